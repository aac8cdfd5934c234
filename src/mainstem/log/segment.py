"""A segment: one `.log` file and the indexes beside it.

The `.log` file is batches one after the other, nothing between them. The first batch's offset is at or
above the segment's base offset, which is its file's name. A segment knows its size; bytes of the file
beyond it are a torn write on its way to be cut off.

Looking an offset up goes from cheap to dear: the last few dozen batches of the active segment are
remembered (`RecentBatches`), then the index's warm section, then its cold one; from an index entry on,
headers are scanned.

One owner changes a segment. Other threads may read it at the same time: what they see is a prefix.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Final, NamedTuple

from mainstem.log.clean_state import SegmentState
from mainstem.log.errors import LogCorrupt
from mainstem.log.names import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    file_name,
)
from mainstem.log.offset_index import MAX_RELATIVE_OFFSET, OffsetIndex
from mainstem.log.open_files import OpenFiles, PinnedFiles
from mainstem.log.time_index import TimeIndex
from mainstem.log.transaction_index import AbortedTransaction, TransactionIndex
from mainstem.model.batch import HEADER_BYTES, LENGTH_PREFIX_BYTES, NO_TIMESTAMP, BatchHeader, parse_header
from mainstem.ports.disk import Disk, File

SCAN_BYTES: Final = 4096 + HEADER_BYTES  # one index interval and a header: mostly a scan is one read
_SPAN: Final = Struct(">qi11xi")  # base offset, length, last offset delta
_MIN_LENGTH: Final = HEADER_BYTES - LENGTH_PREFIX_BYTES
_RECENT_KEPT: Final = 64
NO_OFFSET: Final = -1


class BatchSpan(NamedTuple):
    """Where a batch lies."""

    position: int
    size_bytes: int
    base_offset: int
    last_offset: int


class RecentBatches:
    """Base offsets and positions of the last batches of the active segment."""

    __slots__ = ("offsets", "positions")

    def __init__(self, offsets: array[int] | None = None, positions: array[int] | None = None) -> None:
        self.offsets: array[int] = array("q") if offsets is None else offsets
        self.positions: array[int] = array("q") if positions is None else positions


class Segment:
    __slots__ = (
        "_aborted_count",
        "_directory",
        "_files",
        "_max_timestamp",
        "_offset_index",
        "_offset_of_max_timestamp",
        "_roll_timestamp",
        "_time_index",
        "base_offset",
        "bytes_since_index_entry",
        "created_ms",
        "is_index_dirty",
        "is_transaction_index_dirty",
        "log_path",
        "recent",
        "size_bytes",
    )

    def __init__(
        self,
        files: OpenFiles,
        directory: str,
        base_offset: int,
        *,
        size_bytes: int,
        created_ms: int,
        is_new: bool = False,
    ) -> None:
        self.base_offset = base_offset
        self.size_bytes = size_bytes
        self.created_ms = created_ms  # when this process made or opened it
        self.log_path = f"{directory}/{file_name(base_offset, LOG_SUFFIX)}"
        self.bytes_since_index_entry = 0
        self.is_index_dirty = is_new  # indexes changed since they were last synced
        self.is_transaction_index_dirty = False
        self.recent: RecentBatches | None = None  # only of the active segment, once it was appended to
        self._directory = directory
        self._files = files
        self._offset_index = (
            OffsetIndex(files, self.path(OFFSET_INDEX_SUFFIX), is_new=True) if is_new else None
        )
        self._time_index = TimeIndex(files, self.path(TIME_INDEX_SUFFIX), is_new=True) if is_new else None
        # None: not known yet, to be read from the files
        self._aborted_count: int | None = 0 if is_new else None
        self._max_timestamp: int | None = NO_TIMESTAMP if is_new else None
        self._offset_of_max_timestamp = base_offset
        self._roll_timestamp: int | None = None

    @classmethod
    def create(
        cls, files: OpenFiles, directory: str, base_offset: int, now_ms: int, *, reserved_bytes: int = 0
    ) -> Segment:
        segment = cls(files, directory, base_offset, size_bytes=0, created_ms=now_ms, is_new=True)
        file = files.get(segment.log_path, create=True)
        if file.size():
            file.truncate(0)
        file.allocate(reserved_bytes)
        return segment

    @classmethod
    def from_state(cls, files: OpenFiles, directory: str, state: SegmentState, now_ms: int) -> Segment:
        segment = cls(files, directory, state.base_offset, size_bytes=state.size_bytes, created_ms=now_ms)
        segment._max_timestamp = state.max_timestamp
        segment._offset_of_max_timestamp = state.offset_of_max_timestamp
        segment._roll_timestamp = state.roll_timestamp if state.size_bytes else None
        return segment

    def state(self) -> SegmentState:
        return SegmentState(
            self.base_offset,
            self.size_bytes,
            self.max_timestamp,
            self.offset_of_max_timestamp,
            self.roll_timestamp,
        )

    def path(self, suffix: str) -> str:
        return f"{self._directory}/{file_name(self.base_offset, suffix)}"

    def log_file(self) -> File:
        return self._files.get(self.log_path)

    @property
    def offset_index(self) -> OffsetIndex:
        index = self._offset_index
        if index is None:
            index = self._offset_index = OffsetIndex(self._files, self.path(OFFSET_INDEX_SUFFIX))
        return index

    @property
    def time_index(self) -> TimeIndex:
        index = self._time_index
        if index is None:
            index = self._time_index = TimeIndex(self._files, self.path(TIME_INDEX_SUFFIX))
        return index

    @property
    def transaction_index(self) -> TransactionIndex:
        return TransactionIndex(self._files, self.path(TRANSACTION_INDEX_SUFFIX))

    # --- aborted transactions

    @property
    def aborted_count(self) -> int:
        """How many aborted transactions have their marker here."""
        if self._aborted_count is None:
            self._aborted_count = self.transaction_index.entry_count()
        return self._aborted_count

    def note_aborted(self, aborted: Sequence[AbortedTransaction]) -> None:
        self.transaction_index.append(aborted)
        self._aborted_count = self.aborted_count + len(aborted)
        self.is_transaction_index_dirty = True

    def replace_aborted(self, aborted: Sequence[AbortedTransaction]) -> None:
        self.transaction_index.replace(aborted)
        self._aborted_count = len(aborted)
        self.is_transaction_index_dirty = True

    def forget_aborted(self, offset: int) -> None:
        """Drops those whose marker lies at or above the offset."""
        self.transaction_index.truncate(offset)
        self._aborted_count = None
        self.is_transaction_index_dirty = True

    # --- timestamps

    @property
    def max_timestamp(self) -> int:
        if self._max_timestamp is None:
            self._load_max_timestamp()
        assert self._max_timestamp is not None
        return self._max_timestamp

    @property
    def offset_of_max_timestamp(self) -> int:
        """The last offset of the batch with the greatest timestamp."""
        if self._max_timestamp is None:
            self._load_max_timestamp()
        return self._offset_of_max_timestamp

    def _load_max_timestamp(self) -> None:
        """From the last time entry, and the batches behind the last offset entry."""
        last = self.time_index.last
        timestamp, offset = NO_TIMESTAMP, self.base_offset
        if last is not None:
            timestamp, offset = last.timestamp_ms, self.base_offset + last.relative_offset
        entry = self.offset_index.last_entry()
        for _, header in self.scan_headers(entry[1] if entry else 0, self.size_bytes):
            if header.max_timestamp > timestamp:
                timestamp, offset = header.max_timestamp, header.last_offset
        self._offset_of_max_timestamp = offset
        self._max_timestamp = timestamp

    def note_timestamp(self, timestamp_ms: int, last_offset: int) -> None:
        if timestamp_ms > self.max_timestamp:
            self._offset_of_max_timestamp = last_offset
            self._max_timestamp = timestamp_ms

    def note_recovered(self, header: BatchHeader, size_bytes: int, index_interval_bytes: int) -> None:
        """Takes note of a batch that was written at the end of the file, and indexes it where it is due."""
        self.note_timestamp(header.max_timestamp, header.last_offset)
        if self.bytes_since_index_entry > index_interval_bytes:
            self.offset_index.append(header.last_offset - self.base_offset, self.size_bytes)
            self.time_index.append(self.max_timestamp, self.offset_of_max_timestamp - self.base_offset)
            self.bytes_since_index_entry = 0
        self.bytes_since_index_entry += size_bytes
        self.size_bytes += size_bytes
        self.is_index_dirty = True

    @property
    def roll_timestamp(self) -> int:
        """The greatest timestamp of the first batch, from which `segment.ms` counts; -1 without one."""
        if self._roll_timestamp is None:
            if self.size_bytes < HEADER_BYTES:
                return NO_TIMESTAMP
            header = parse_header(self.log_file().read(HEADER_BYTES, 0))
            self._roll_timestamp = header.max_timestamp
        return self._roll_timestamp

    # --- changes, by the owner

    def write_indexes(self) -> bool:
        """Brings both index files up to date, with a last time entry. False when the disk refused."""
        if self.size_bytes:
            self.time_index.append(self.max_timestamp, self.offset_of_max_timestamp - self.base_offset)
        offsets_written = self.offset_index.write_pending()
        return self.time_index.write_pending() and offsets_written

    def retire(self) -> None:
        """It is not the active segment any more."""
        self.recent = None
        self.write_indexes()
        self.is_index_dirty = True
        self.offset_index.release_memory()

    def trim(self) -> None:
        """Gives back what was reserved for the `.log` file beyond its batches."""
        file = self.log_file()
        if file.size() > self.size_bytes:
            file.truncate(self.size_bytes)

    def remember(self, offsets: list[int], positions: list[int]) -> None:
        """Takes note of batches just appended, for `find_recent`."""
        recent = self.recent
        if recent is None:
            recent = self.recent = RecentBatches()
        elif len(recent.offsets) > 2 * _RECENT_KEPT:
            recent = self.recent = RecentBatches(
                recent.offsets[-_RECENT_KEPT:], recent.positions[-_RECENT_KEPT:]
            )
        recent.positions.extend(positions[-_RECENT_KEPT:])
        recent.offsets.extend(offsets[-_RECENT_KEPT:])

    def truncate(self, span: BatchSpan) -> None:
        """Cuts the segment where this batch starts."""
        self.recent = None
        self.log_file().truncate(span.position)
        self.size_bytes = span.position
        relative = span.base_offset - self.base_offset
        self.offset_index.truncate(relative, span.position)
        self.time_index.truncate(relative)
        self.forget_aborted(span.base_offset)
        self.is_index_dirty = True
        self.bytes_since_index_entry = 0
        self._max_timestamp = None
        if span.position == 0:
            self._roll_timestamp = None

    def sync(self, *, with_indexes: bool) -> None:
        """Blocks until the log file, and its indexes if they changed, are on stable storage."""
        self.log_file().sync()
        if self.is_transaction_index_dirty:  # recovery believes what it says of the log that was stored
            self.is_transaction_index_dirty = False
            self.transaction_index.sync()
        if with_indexes and self.is_index_dirty:
            self.is_index_dirty = False
            self.offset_index.sync()
            self.time_index.sync()

    def rename(self, disk: Disk, added_suffix: str) -> list[str]:
        """Renames what files there are; the new paths."""
        renamed = []
        for suffix in SEGMENT_SUFFIXES:
            path = self.path(suffix)
            self._files.forget(path)
            if disk.exists(path):
                disk.rename(path, path + added_suffix)
                renamed.append(path + added_suffix)
        return renamed

    def pin(self) -> None:
        """Holds on to its files, because others are going to lie at their paths."""
        if not isinstance(self._files, PinnedFiles):
            self._use(self._files.pinned([self.path(suffix) for suffix in SEGMENT_SUFFIXES]))

    def unpin(self) -> None:
        if isinstance(self._files, PinnedFiles):
            self._use(self._files.unpinned)

    def _use(self, files: OpenFiles) -> None:
        self._files = files
        if self._offset_index is not None:
            self._offset_index.use(files)
        if self._time_index is not None:
            self._time_index.use(files)

    def close_files(self) -> None:
        for suffix in SEGMENT_SUFFIXES:
            self._files.forget(self.path(suffix))

    def remove(self, disk: Disk) -> None:
        for suffix in SEGMENT_SUFFIXES:
            path = self.path(suffix)
            self._files.forget(path)
            disk.remove(path)

    # --- looking up

    def fits(self, last_offset: int) -> bool:
        return last_offset - self.base_offset <= MAX_RELATIVE_OFFSET

    def find(self, offset: int) -> BatchSpan | None:
        """The first batch that ends at or after the offset; None when all end before it."""
        position = 0
        if self.size_bytes > SCAN_BYTES and offset > self.base_offset:
            position = self.offset_index.lookup(min(offset - self.base_offset, 2**32 - 1))
        file = self.log_file()
        end = self.size_bytes
        chunk, chunk_position = b"", position
        while position < end:
            at = position - chunk_position
            if at + HEADER_BYTES > len(chunk):
                chunk, chunk_position, at = file.read(SCAN_BYTES, position), position, 0
                if len(chunk) < HEADER_BYTES:
                    raise LogCorrupt(f"{self.log_path}: a batch at {position} has no header")
            base_offset, length, delta = _SPAN.unpack_from(chunk, at)
            if length < _MIN_LENGTH or delta < 0:
                raise LogCorrupt(f"{self.log_path}: a batch at {position} claims {length} bytes")
            if base_offset + delta >= offset:
                return BatchSpan(position, length + LENGTH_PREFIX_BYTES, base_offset, base_offset + delta)
            position += length + LENGTH_PREFIX_BYTES
        return None

    def find_recent(self, offset: int) -> tuple[int, int] | None:
        """Position and size of the batch that holds the offset, if it is one of the last appended."""
        recent = self.recent
        if recent is None:
            return None
        offsets = recent.offsets
        number = bisect_right(offsets, offset)
        if number == 0:
            return None
        positions = recent.positions
        position = positions[number - 1]
        end = positions[number] if number < len(positions) else self.size_bytes
        return position, end - position

    def scan_headers(self, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
        """Position and header of each batch from `position`, a batch boundary, up to before `end`."""
        file = self.log_file()
        chunk, chunk_position = b"", position
        while position < end:
            at = position - chunk_position
            if at + HEADER_BYTES > len(chunk):
                chunk, chunk_position, at = file.read(SCAN_BYTES, position), position, 0
                if len(chunk) < HEADER_BYTES:
                    raise LogCorrupt(f"{self.log_path}: a batch at {position} has no header")
            header = parse_header(chunk, at)
            if header.length < _MIN_LENGTH or header.last_offset_delta < 0:
                raise LogCorrupt(f"{self.log_path}: a batch at {position} claims {header.length} bytes")
            yield position, header
            position += header.length + LENGTH_PREFIX_BYTES
