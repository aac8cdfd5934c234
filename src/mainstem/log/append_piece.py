"""What one write to one segment consists of.

Planning walks the staged batches once: it gives each its offset, refuses or recognises what the
producer state says, and stops where the segment has to roll. Nothing of the log has changed until the
write succeeded, except producer entries, which `undo` puts back.

This is the hot path of a produce. Per batch it packs 16 bytes and slices a view; it looks at no record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mainstem.log.producer_state import EndedTransaction, ProducerEntry, ProducerStates
from mainstem.log.segment import Segment
from mainstem.log.staged import AppendOutcome, StagedBatch
from mainstem.model.batch import LENGTH_PREFIX_BYTES, LOG_APPEND_TIME_BIT, PREFIX, PREFIX_BYTES, Buffer
from mainstem.model.errors import PeerError


class RollLimits(NamedTuple):
    """When the segment is full for the next batch. It always takes its first one."""

    segment_bytes: int
    roll_timestamp: int  # batches with a greater timestamp belong to the next; counted from the first batch's
    index_interval_bytes: int
    index_entries_left: int


class AppendPiece:
    __slots__ = (
        "buffers",
        "ended",
        "index_entries",
        "max_timestamp",
        "next_batch",
        "next_offset",
        "offset_of_max_timestamp",
        "offsets",
        "outcomes",
        "positions",
        "since_index_entry",
        "size_after",
        "undo",
    )

    def __init__(self, segment: Segment, next_batch: int, next_offset: int) -> None:
        self.buffers: list[Buffer] = []
        self.outcomes: list[AppendOutcome] = []
        self.offsets: list[int] = []  # base offset of each written batch
        self.positions: list[int] = []
        self.index_entries: list[
            tuple[int, int, int, int]
        ] = []  # last offset, position, max time, its offset
        self.next_batch = next_batch
        self.next_offset = next_offset
        self.size_after = segment.size_bytes
        self.since_index_entry = segment.bytes_since_index_entry
        self.max_timestamp = segment.max_timestamp
        self.offset_of_max_timestamp = segment.offset_of_max_timestamp
        self.undo: dict[int, ProducerEntry | None] = {}
        self.ended: list[EndedTransaction] = []  # by the markers among the batches

    def plan(
        self,
        batches: Sequence[StagedBatch],
        segment: Segment,
        limits: RollLimits,
        producers: ProducerStates,
        leader_epoch: int,
    ) -> None:
        segment_bytes, roll_timestamp, interval, entries_left = limits
        last_fitting = segment.base_offset + 0x7FFF_FFFF
        offset = self.next_offset
        position = self.size_after
        since = self.since_index_entry
        newest = self.max_timestamp
        pack = PREFIX.pack
        buffers, outcomes = self.buffers, self.outcomes
        number = self.next_batch
        for number in range(number, len(batches)):  # noqa: B020 - goes on where the last piece stopped
            body, header = batches[number]
            _, length, _, _, _, attributes, delta, _, timestamp, producer_id, _, _, _ = header
            size = length + LENGTH_PREFIX_BYTES
            last_offset = offset + delta
            if position and (
                position + size > segment_bytes
                or timestamp > roll_timestamp
                or last_offset > last_fitting
                or (since > interval and entries_left <= 0)
            ):
                break
            if producer_id >= 0:
                outcome = self._admit(batches[number], producers, offset)
                if outcome is not None:
                    outcomes.append(outcome)
                    continue
            if not position and timestamp >= 0:
                roll_timestamp += timestamp  # the first batch of the segment: time starts here
            if timestamp > newest:
                newest = self.max_timestamp = timestamp
                self.offset_of_max_timestamp = last_offset
            if since > interval:
                self.index_entries.append((last_offset, position, newest, self.offset_of_max_timestamp))
                since = 0
                entries_left -= 1
            buffers.append(pack(offset, length, leader_epoch))
            buffers.append(memoryview(body)[PREFIX_BYTES:])
            outcomes.append(AppendOutcome(offset, timestamp if attributes & LOG_APPEND_TIME_BIT else -1))
            self.offsets.append(offset)
            self.positions.append(position)
            offset = last_offset + 1
            position += size
            since += size
        else:
            number = len(batches)
        self.next_batch = number
        self.next_offset = offset
        self.size_after = position
        self.since_index_entry = since

    def _admit(self, batch: StagedBatch, producers: ProducerStates, offset: int) -> AppendOutcome | None:
        """None: write it. Otherwise what became of it without a write."""
        header = batch.header
        previous = producers.get(header.producer_id)
        try:
            known = producers.check(header)
        except PeerError as error:
            return AppendOutcome(-1, -1, error.without_trace())
        if known is not None:
            time_ms = known.timestamp_ms if header.is_log_append_time else -1
            return AppendOutcome(known.first_offset, time_ms, None, True)
        self.undo.setdefault(header.producer_id, previous)
        if header.is_control:
            ended = producers.update_from_marker(header, batch.body, offset)
            if ended is not None:
                self.ended.append(ended)
        else:
            producers.update(header, offset)
        return None

    def apply(self, segment: Segment) -> None:
        """Takes note of the write in the segment and its indexes."""
        segment.size_bytes = self.size_after
        segment.remember(self.offsets, self.positions)
        segment.note_timestamp(self.max_timestamp, self.offset_of_max_timestamp)
        segment.bytes_since_index_entry = self.since_index_entry
        if self.index_entries:
            base_offset = segment.base_offset
            offset_index, time_index = segment.offset_index, segment.time_index
            for last_offset, position, timestamp, timestamp_offset in self.index_entries:
                offset_index.append(last_offset - base_offset, position)
                time_index.append(timestamp, timestamp_offset - base_offset)
            segment.is_index_dirty = True

    def roll_back(self, producers: ProducerStates) -> None:
        for producer_id, entry in self.undo.items():
            producers.restore(producer_id, entry)
