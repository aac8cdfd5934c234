"""Writes a cleaned segment beside those that it will replace: `.log.cleaned` and its indexes.

Batches come with their offsets. Everything is on stable storage when `finish` returns.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mainstem.log.clean_state import SegmentState
from mainstem.log.names import (
    CLEANED_SUFFIX,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    file_name,
)
from mainstem.log.offset_index import ENTRY as OFFSET_ENTRY
from mainstem.log.time_index import ENTRY as TIME_ENTRY
from mainstem.log.transaction_index import ENTRY as TRANSACTION_ENTRY
from mainstem.log.transaction_index import VERSION as TRANSACTION_VERSION
from mainstem.log.transaction_index import AbortedTransaction
from mainstem.model.batch import NO_TIMESTAMP, BatchHeader, Buffer
from mainstem.ports.disk import Disk

_BATCHES_PER_WRITE: Final = 512
_SMALL_BYTES: Final = 16 * 1024


class CleanedSegment(NamedTuple):
    """What was written, and what the log has to know of it."""

    base_offset: int
    size_bytes: int
    max_timestamp: int
    offset_of_max_timestamp: int
    first_timestamp: int  # of its first batch
    suffixes: tuple[str, ...]  # of the files that it has

    def state(self) -> SegmentState:
        return SegmentState(
            self.base_offset,
            self.size_bytes,
            self.max_timestamp,
            self.offset_of_max_timestamp,
            self.first_timestamp,
        )


def discard(disk: Disk, directory: str, cleaned: CleanedSegment) -> None:
    """Takes away a cleaned segment that will not be used."""
    for suffix in cleaned.suffixes:
        disk.remove(f"{directory}/{file_name(cleaned.base_offset, suffix)}{CLEANED_SUFFIX}")


class CleanedSegmentWriter:
    def __init__(
        self,
        disk: Disk,
        directory: str,
        base_offset: int,
        *,
        buffer_bytes: int,
        index_interval_bytes: int,
    ) -> None:
        self.size_bytes = 0
        self.last_offset = base_offset - 1  # of the last batch that was written
        self._disk = disk
        self._stem = f"{directory}/{file_name(base_offset, '')}"
        self._base_offset = base_offset
        self._buffer_bytes = buffer_bytes
        self._index_interval_bytes = index_interval_bytes
        self._since_entry = 0
        self._newest = (NO_TIMESTAMP, base_offset)  # greatest timestamp, last offset of its batch
        self._first_timestamp = NO_TIMESTAMP
        self._offset_entries = bytearray()
        self._time_entries = bytearray()
        self._last_time_entry = NO_TIMESTAMP
        self._waiting: list[Buffer] = []
        self._waiting_bytes = 0
        self.remove()
        self._file = disk.open(self._path(LOG_SUFFIX), create=True)

    def _path(self, suffix: str) -> str:
        return f"{self._stem}{suffix}{CLEANED_SUFFIX}"

    def append(self, header: BatchHeader, batch: Buffer) -> int:
        """Takes a batch; how many bytes were written to the file meanwhile.

        Of the header only what stays the same counts, and the greatest timestamp.
        """
        if not self.size_bytes:
            self._first_timestamp = header.max_timestamp
        if header.max_timestamp > self._newest[0]:
            self._newest = (header.max_timestamp, header.last_offset)
        if self._since_entry > self._index_interval_bytes:
            relative = header.last_offset - self._base_offset
            self._offset_entries += OFFSET_ENTRY.pack(relative, self.size_bytes)
            self._add_time_entry()
            self._since_entry = 0
        size = len(batch)
        self._since_entry += size
        self.size_bytes += size
        self.last_offset = header.last_offset
        # A small view would keep the whole piece alive that it was read in.
        self._waiting.append(bytes(batch) if size < _SMALL_BYTES else batch)
        self._waiting_bytes += size
        if self._waiting_bytes >= self._buffer_bytes or len(self._waiting) >= _BATCHES_PER_WRITE:
            return self._write()
        return 0

    def _add_time_entry(self) -> None:
        timestamp_ms, offset = self._newest
        if timestamp_ms > self._last_time_entry:
            self._last_time_entry = timestamp_ms
            self._time_entries += TIME_ENTRY.pack(timestamp_ms, offset - self._base_offset)

    def _write(self) -> int:
        written = self._waiting_bytes
        self._file.write(self._waiting, self.size_bytes - written)
        self._waiting = []
        self._waiting_bytes = 0
        return written

    def finish(self, aborted: list[AbortedTransaction]) -> CleanedSegment:
        if self._waiting:
            self._write()
        self._file.sync()
        self._add_time_entry()
        entries = [TRANSACTION_ENTRY.pack(TRANSACTION_VERSION, *transaction) for transaction in aborted]
        contents = {
            OFFSET_INDEX_SUFFIX: bytes(self._offset_entries),
            TIME_INDEX_SUFFIX: bytes(self._time_entries),
        }
        if entries:
            contents[TRANSACTION_INDEX_SUFFIX] = b"".join(entries)
        for suffix, content in contents.items():
            file = self._disk.open(self._path(suffix), create=True)
            if content:
                file.write((content,), 0)
            file.sync()
        timestamp_ms, offset = self._newest
        return CleanedSegment(
            self._base_offset,
            self.size_bytes,
            timestamp_ms,
            offset,
            self._first_timestamp,
            (LOG_SUFFIX, *contents),
        )

    def remove(self) -> None:
        """Takes away what was written, now or by a cleaning that was cut short."""
        for suffix in SEGMENT_SUFFIXES:
            self._disk.remove(self._path(suffix))
