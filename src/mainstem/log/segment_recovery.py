"""Mends a segment after an unclean stop, and tells where its whole batches end.

What lies below `trusted_offset` was on stable storage when the process ended and is not read again, as
far as the offset index leads to its end; the index itself was perhaps not stored, so it is used only as
far as its entries rise and the entry that is followed leads to a batch. From there on every batch is
checked: its length, its checksum, that its offsets rise. The first that is not whole ends the segment;
what follows is cut off. Index entries from there on are made anew; those of aborted transactions need to
know the producers, and are `loading`'s.

An index that is missing or damaged costs a scan of the whole segment, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from mainstem.log.batch_reader import read_batches
from mainstem.log.errors import LogCorrupt
from mainstem.log.names import OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX
from mainstem.log.offset_index import ENTRY_BYTES as OFFSET_ENTRY_BYTES
from mainstem.log.segment import Segment
from mainstem.log.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from mainstem.log.time_index import TimeEntry
from mainstem.model.batch import CRC_START, HEADER_BYTES, MAGIC, NO_TIMESTAMP, BatchHeader, parse_header
from mainstem.model.crc import crc32c
from mainstem.ports.disk import Disk

SCAN_CHUNK_BYTES: Final = 1024 * 1024

OnBatch = Callable[[BatchHeader, memoryview], None]


class RecoveredSegment(NamedTuple):
    next_offset: int  # after its last whole batch; its base offset when it has none
    cut_bytes: int  # of the torn tail


class _Start(NamedTuple):
    """Where checking begins: everything before is trusted."""

    position: int
    offset_entries: Sequence[tuple[int, int]]
    time_entries: Sequence[TimeEntry]


_FROM_THE_FIRST_BATCH: Final = _Start(0, (), ())


def recover_segment(
    segment: Segment,
    *,
    file_bytes: int,
    trusted_offset: int,
    index_interval_bytes: int,
    on_batch: OnBatch,
) -> RecoveredSegment:
    """`on_batch` gets each whole batch from the first one that was checked."""
    segment.size_bytes = file_bytes
    start = _start(segment, trusted_offset)
    if start.position and next(_whole_batches(segment, start.position, file_bytes), None) is None:
        start = _FROM_THE_FIRST_BATCH  # what was stored is damaged: find out how far it is whole
    offset_entries, time_entries = list(start.offset_entries), list(start.time_entries)
    newest = time_entries[-1] if time_entries else TimeEntry(NO_TIMESTAMP, 0)
    base_offset = segment.base_offset
    end = start.position
    next_offset = base_offset
    since_entry = index_interval_bytes + 1 if start.position else 0  # an entry led to where it starts
    for position, header, batch in _whole_batches(segment, start.position, file_bytes):
        on_batch(header, batch)
        relative = header.last_offset - base_offset
        if header.max_timestamp > newest.timestamp_ms:
            newest = TimeEntry(header.max_timestamp, relative)
        if since_entry > index_interval_bytes:
            offset_entries.append((relative, position))
            _add_time(time_entries, newest)
            since_entry = 0
        since_entry += len(batch)
        end = position + len(batch)
        next_offset = header.next_offset
    cut_bytes = file_bytes - end
    if cut_bytes:
        segment.log_file().truncate(end)
    segment.size_bytes = end
    _add_time(time_entries, newest)
    segment.offset_index.replace(offset_entries)
    segment.time_index.replace(time_entries)
    segment.is_index_dirty = True
    segment.bytes_since_index_entry = since_entry
    return RecoveredSegment(next_offset, cut_bytes)


def _add_time(entries: list[TimeEntry], newest: TimeEntry) -> None:
    if newest.timestamp_ms >= 0 and (not entries or newest.timestamp_ms > entries[-1].timestamp_ms):
        entries.append(newest)


def _whole_batches(
    segment: Segment, position: int, end: int
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """The batches up to the first that is torn, damaged or out of order."""
    lowest_offset = segment.base_offset
    batches = read_batches(segment.log_file(), position, end, chunk_bytes=SCAN_CHUNK_BYTES)
    while True:
        try:
            position, header, batch = next(batches)
        except (StopIteration, LogCorrupt):
            return
        if (
            header.magic != MAGIC
            or header.base_offset < lowest_offset
            or header.last_offset_delta < 0
            or not segment.fits(header.last_offset)
            or crc32c(batch[CRC_START:]) != header.crc
        ):
            return
        yield position, header, batch
        lowest_offset = header.next_offset


def _start(segment: Segment, trusted_offset: int) -> _Start:
    relative_limit = trusted_offset - segment.base_offset
    if relative_limit <= 0:
        return _FROM_THE_FIRST_BATCH
    kept = _rising(segment.offset_index.read_all(), segment.size_bytes)
    kept = [entry for entry in kept if entry[0] < relative_limit]
    if not kept or not _leads_to_batch(segment, kept[-1]):
        return _FROM_THE_FIRST_BATCH
    last_relative, position = kept.pop()  # this batch is read again, and so gets its entry again
    times: list[TimeEntry] = []
    for entry in segment.time_index.read_all():
        if entry.relative_offset >= last_relative or (
            times and (entry.timestamp_ms <= times[-1].timestamp_ms or entry <= times[-1])
        ):
            break
        times.append(entry)
    if not times:
        return _FROM_THE_FIRST_BATCH
    return _Start(position, kept, times)


def _rising(entries: list[tuple[int, int]], file_bytes: int) -> list[tuple[int, int]]:
    """The entries up to the first that does not rise, as after a torn page."""
    before = (-1, -1)
    for number, entry in enumerate(entries):
        if entry[0] <= before[0] or entry[1] <= before[1] or entry[1] + HEADER_BYTES > file_bytes:
            return entries[:number]
        before = entry
    return entries


def _leads_to_batch(segment: Segment, entry: tuple[int, int]) -> bool:
    relative, position = entry
    raw = segment.log_file().read(HEADER_BYTES, position)
    if len(raw) < HEADER_BYTES:
        return False
    header = parse_header(raw)
    return header.magic == MAGIC and header.last_offset == segment.base_offset + relative


def has_sound_indexes(segment: Segment, disk: Disk) -> bool:
    """Whether a segment that was stored whole has its indexes, as far as a glance tells."""
    for suffix, entry_bytes in (
        (OFFSET_INDEX_SUFFIX, OFFSET_ENTRY_BYTES),
        (TIME_INDEX_SUFFIX, TIME_ENTRY_BYTES),
    ):
        try:
            size = disk.size(segment.path(suffix))
        except OSError:
            return False
        if size % entry_bytes or (size == 0 and suffix == TIME_INDEX_SUFFIX and segment.size_bytes):
            return False
    last = segment.offset_index.last_entry()
    segment.offset_index.release_memory()
    if last is None:
        return True
    return last[1] + HEADER_BYTES <= segment.size_bytes and _leads_to_batch(segment, last)
