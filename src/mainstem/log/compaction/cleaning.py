"""One cleaning of one log.

    1  map      the keys of the dirty part go into the offset map, as far as it has room
    2  groups   the segments up to there are put into groups that make one segment each
    3  clean    group by group, what is the newest of its key is copied into a cleaned segment
    4  swap     each cleaned segment takes the place of its group (segment_swap.py)

Steps 1 and 3 run in a thread and take turns with the loop. Only closed segments below everything that is
undecided are touched, and nobody but a cleaning changes those, so a cleaning needs no lock: the log tells
readers apart by its tuple of segments, and the old segments hold on to their own files (`Segment.pin`).

Offsets never move. A cleaning that stops half way leaves each group either old or new, and both are right:
the first dirty offset moves only at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from mainstem.config.topic_options import TopicConfig
from mainstem.log.batch_reader import read_batches
from mainstem.log.compaction.batch_filter import (
    BatchFilter,
    LastOfProducer,
    check_batch,
    emptied,
    plain_records,
    unreadable,
)
from mainstem.log.compaction.cleanable import Cleanable
from mainstem.log.compaction.offset_map import new_offset_map
from mainstem.log.compaction.pace import RECORDS_PER_BATCH, Pace
from mainstem.log.compaction.segment_writer import CleanedSegment, CleanedSegmentWriter
from mainstem.log.compaction.selection import NewestOffsets
from mainstem.log.compaction.transactions import TransactionTracker, aborted_transactions
from mainstem.log.errors import LogCorrupt
from mainstem.log.offset_index import MAX_RELATIVE_OFFSET
from mainstem.log.segment import Segment
from mainstem.log.storage import LogStorage
from mainstem.model.batch import BatchHeader, parse_header
from mainstem.model.errors import MalformedRecords

MAX_GROUP_SEGMENTS: Final = 64  # each holds on to its files while it is read
_OFFSET_ENTRY_BYTES: Final = 8
_TIME_ENTRY_BYTES: Final = 12


@dataclass(frozen=True, slots=True)
class CleaningMemory:
    map_bytes: int
    map_load_factor: float
    buffer_bytes: int  # for reading, and the same for writing


@dataclass(slots=True)
class CleaningStatistics:
    map_bytes_read: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    map_keys: int = 0
    map_utilization: float = 0.0
    records_read: int = 0
    records_kept: int = 0
    keyless_records: int = 0


@dataclass(frozen=True, slots=True)
class SegmentGroup:
    """Segments that become one."""

    first_number: int  # of its first segment in the log
    segments: Sequence[Segment]
    end_offset: int

    @property
    def base_offset(self) -> int:
        return self.segments[0].base_offset

    @property
    def base_offsets(self) -> list[int]:
        return [segment.base_offset for segment in self.segments]

    def pin(self) -> None:
        """Before `clean`, on the loop: who reads these segments goes on to read them after the swap."""
        for segment in self.segments:
            segment.pin()

    def unpin(self) -> None:
        """The segments stay in the log after all."""
        for segment in self.segments:
            segment.unpin()


class Cleaning:
    """Made on the loop; `build_map` and `clean` run in a thread, one after the other."""

    def __init__(
        self,
        storage: LogStorage,
        directory: str,
        config: TopicConfig,
        cleanable: Cleanable,
        producers: Mapping[int, LastOfProducer],
        memory: CleaningMemory,
        pace: Pace,
    ) -> None:
        self.statistics = CleaningStatistics()
        self._storage = storage
        self._directory = directory
        self._config = config
        self._cleanable = cleanable
        self._producers = producers
        self._memory = memory
        self._pace = pace
        self._now_ms = storage.clock.now_ms()
        self._newest: NewestOffsets = new_offset_map(
            memory.map_bytes, cleanable.first_dirty_offset, load_factor=memory.map_load_factor
        )
        self._transactions = TransactionTracker()
        self._last_markers: dict[int, int] = {}  # of the producers that only a marker tells of

    @property
    def end_offset(self) -> int:
        """Everything below is clean once all groups are swapped."""
        return self._newest.latest_offset + 1

    # --- 1: the map

    def build_map(self) -> None:
        cleanable, transactions = self._cleanable, TransactionTracker()
        for number, segment, end_offset in self._numbered(cleanable.first_dirty_offset):
            from_offset = max(segment.base_offset, cleanable.first_dirty_offset)
            transactions.announce(aborted_transactions(cleanable.segments, number, from_offset, end_offset))
            if not self._map_segment(segment, transactions):
                break
            self._newest.latest_offset = end_offset - 1
        newest, statistics = self._newest, self.statistics
        statistics.map_keys = len(newest)
        statistics.map_utilization = len(newest) / newest.capacity
        if newest.latest_offset < cleanable.first_dirty_offset:
            raise LogCorrupt(
                f"the keys of the batch at offset {cleanable.first_dirty_offset} do not fit into the offset "
                f"map of {self._memory.map_bytes} bytes: raise log.cleaner.dedupe.buffer.size"
            )

    def _numbered(self, from_offset: int) -> Iterator[tuple[int, Segment, int]]:
        """Number, segment and end of those that hold something from the offset on and may be cleaned."""
        segments = self._cleanable.segments
        for number, segment in enumerate(segments[:-1]):
            end_offset = segments[number + 1].base_offset
            if end_offset > self._cleanable.first_uncleanable_offset:
                return
            if end_offset > from_offset:
                yield number, segment, end_offset

    def _map_segment(self, segment: Segment, transactions: TransactionTracker) -> bool:
        """False when the map is full."""
        newest, start_offset = self._newest, self._cleanable.first_dirty_offset
        span = segment.find(start_offset)
        for header, batch in self._batches(segment, span.position if span is not None else 0):
            if header.last_offset < start_offset:
                continue
            check_batch(header, batch)
            self.statistics.map_bytes_read += len(batch)
            if header.is_control:
                transactions.has_ended_empty(header, batch)
                last = self._producers.get(header.producer_id)
                if last is not None and last.data_offset is None and header.producer_epoch == last.epoch:
                    self._last_markers[header.producer_id] = header.base_offset
            elif (
                not (header.is_transactional and transactions.is_aborted(header))
                and header.record_count
                and not self._map_batch(header, batch)
            ):
                return False
            newest.latest_offset = max(newest.latest_offset, header.last_offset)
        return True

    def _map_batch(self, header: BatchHeader, batch: memoryview) -> bool:
        newest = self._newest
        if not newest.make_room(header.record_count):
            return False
        plain = plain_records(header, batch)
        try:
            newest.index_batch(plain, header.record_count, header.base_offset, self._pace.breathe)
        except MalformedRecords as error:
            raise unreadable(header, error) from error
        return True

    def _batches(self, segment: Segment, position: int) -> Iterator[tuple[BatchHeader, memoryview]]:
        """The batches of a segment, no faster than the pace allows."""
        account, unaccounted = self._pace.account, 0
        buffer_bytes = self._memory.buffer_bytes
        for _, header, batch in read_batches(
            segment.log_file(), position, segment.size_bytes, chunk_bytes=buffer_bytes
        ):
            unaccounted += len(batch)
            if unaccounted >= buffer_bytes:
                account(unaccounted)
                unaccounted = 0
            self._pace.breathe(RECORDS_PER_BATCH)
            yield header, batch
        account(unaccounted)

    # --- 2: the groups

    def groups(self) -> list[SegmentGroup]:
        """The segments up to the end of the map, put together as far as they fit into one."""
        cleanable, config = self._cleanable, self._config
        groups: list[SegmentGroup] = []
        members: list[Segment] = []
        first_number = size_bytes = offset_entries = time_entries = 0
        last_end = 0

        def close() -> None:
            if members:
                groups.append(SegmentGroup(first_number, tuple(members), last_end))

        most_offset_entries = config.segment_index_bytes // _OFFSET_ENTRY_BYTES
        most_time_entries = config.segment_index_bytes // _TIME_ENTRY_BYTES
        for number, segment, end_offset in self._numbered(cleanable.segments[0].base_offset):
            if segment.base_offset >= self.end_offset:
                break
            offsets, times = segment.offset_index.entry_count, segment.time_index.entry_count
            fits = (
                members
                and len(members) < MAX_GROUP_SEGMENTS
                and size_bytes + segment.size_bytes <= config.segment_bytes
                and offset_entries + offsets <= most_offset_entries
                and time_entries + times <= most_time_entries
                and end_offset - 1 - members[0].base_offset <= MAX_RELATIVE_OFFSET
            )
            if not fits:
                close()
                members = []
                first_number, size_bytes, offset_entries, time_entries = number, 0, 0, 0
            members.append(segment)
            size_bytes += segment.size_bytes
            offset_entries += offsets
            time_entries += times
            last_end = end_offset
        close()
        return groups

    # --- 3: the copy

    def clean(self, group: SegmentGroup) -> CleanedSegment:
        """Writes what is kept of the group, durably. Nothing stays of it when this raises."""
        self._transactions.retained = []
        writer = CleanedSegmentWriter(
            self._storage.disk,
            self._directory,
            group.base_offset,
            buffer_bytes=self._memory.buffer_bytes,
            index_interval_bytes=self._config.index_interval_bytes,
        )
        try:
            self._copy(group, writer)
            cleaned = writer.finish(self._transactions.retained)
        except BaseException:
            with suppress(OSError):  # the next start or the next cleaning removes what this leaves
                writer.remove()
            raise
        self.statistics.bytes_written += cleaned.size_bytes
        return cleaned

    def _copy(self, group: SegmentGroup, writer: CleanedSegmentWriter) -> None:
        rule = BatchFilter(
            self._newest,
            self._transactions,
            self._producers,
            self._last_markers,
            now_ms=self._now_ms,
            delete_retention_ms=self._config.delete_retention_ms,
            breathe=self._pace.breathe,
        )
        account, last = self._pace.account, None
        segments = self._cleanable.segments
        for number, segment in enumerate(group.segments, group.first_number):
            end_offset = segments[number + 1].base_offset
            self._transactions.announce(
                aborted_transactions(segments, number, segment.base_offset, end_offset)
            )
            for header, batch in self._batches(segment, 0):
                self.statistics.bytes_read += len(batch)
                last = header
                kept = rule.keep(header, batch)
                if kept is None:
                    continue
                written = writer.append(header if kept is batch else parse_header(kept), kept)
                if written:
                    account(written)
        if last is not None and writer.last_offset < last.last_offset:
            empty = emptied(last)
            writer.append(parse_header(empty), empty)
        self.statistics.records_read += rule.records_read
        self.statistics.records_kept += rule.records_kept
        self.statistics.keyless_records += rule.keyless_records
