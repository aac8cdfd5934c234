"""The records of one partition on their way to its leader, in an order that failures do not change.

    add -> open batch -> ready -> in flight -> confirmed
                           ^          |
                           +-- retry -+

An idempotent producer numbers the batches of a partition when they are first sent. When one of
several in flight comes back with a passing error, those behind it come back too (the leader refuses
a gap), so the queue sends nothing more until all have come back and then starts again with the
oldest, under the old numbers: what was written after all is recognised as such by the leader.

A leader that has taken nothing from a producer yet begins at whatever number comes first, so it would
not see a gap: until the first batch is confirmed, no second one is sent.

When a batch is given up for good, its number is a gap that nothing will ever fill: the queue is
*broken*. What is known not to have been written then gets new numbers under a new producer identity.
Batches whose fate is unknown are sent once more under the old one before that: the answer says
whether they were written.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from mainstem.model.ids import TopicPartition
from mainstem.model.records import NewRecord, build_batch

_RECORD_OVERHEAD_BYTES: Final = 16
_HEADER_OVERHEAD_BYTES: Final = 4
OBJECTS_BYTES: Final = 256  # of Python's own for a record, its key, its value and a number
_SEQUENCE_MASK: Final = 0x7FFFFFFF


class ProducerIdentity(NamedTuple):
    producer_id: int
    epoch: int


NO_IDENTITY: Final = ProducerIdentity(-1, -1)


def record_size(record: NewRecord) -> int:
    size = _RECORD_OVERHEAD_BYTES + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += _HEADER_OVERHEAD_BYTES + len(name) + len(value or b"")
    return size


@dataclass(slots=True)
class PendingBatch:
    records: list[NewRecord]
    size_bytes: int  # estimate, uncompressed
    give_up_at: float  # monotonic seconds
    sequence: int = -1  # -1: not numbered yet
    is_unwritten: bool = False  # the leader said that it does not have it
    encoded: bytes | None = None

    @property
    def memory_bytes(self) -> int:
        """About what its records take while they wait."""
        return self.size_bytes + len(self.records) * OBJECTS_BYTES

    def split(self) -> tuple[PendingBatch, PendingBatch]:
        """Two halves under the numbers of the whole."""
        middle = len(self.records) // 2
        halves = []
        for start, records in ((0, self.records[:middle]), (middle, self.records[middle:])):
            sequence = -1 if self.sequence < 0 else (self.sequence + start) & _SEQUENCE_MASK
            size = sum(map(record_size, records))
            halves.append(PendingBatch(records, size, self.give_up_at, sequence, self.is_unwritten))
        return halves[0], halves[1]

    def without(self, refused: set[int]) -> tuple[PendingBatch, PendingBatch]:
        """The records at these places, and all others."""
        parts = []
        for is_refused in (True, False):
            records = [record for at, record in enumerate(self.records) if (at in refused) is is_refused]
            size = sum(map(record_size, records))
            parts.append(PendingBatch(records, size, self.give_up_at, self.sequence, is_unwritten=True))
        return parts[0], parts[1]


@dataclass(slots=True)
class PartitionQueue:
    partition: TopicPartition
    batch_bytes: int
    max_in_flight: int
    open: PendingBatch | None = None
    ready: deque[PendingBatch] = field(default_factory=deque)
    in_flight: list[PendingBatch] = field(default_factory=list)
    retry: list[PendingBatch] = field(default_factory=list)  # not empty: nothing new is sent
    is_transactional: bool = False
    identity: ProducerIdentity | None = None
    spent_identity: ProducerIdentity | None = None  # the one under which the queue broke
    next_sequence: int = 0
    is_known: bool = False  # the leader has taken a batch under this identity, and so sees gaps
    is_broken: bool = False
    not_before: float = 0.0  # monotonic seconds: a pause after a failure

    @property
    def is_empty(self) -> bool:
        return self.open is None and not (self.ready or self.in_flight or self.retry)

    def add(self, record: NewRecord, size: int, give_up_at: float) -> bool:
        """Whether a batch became full by it."""
        filled = False
        if self.open is not None and self.open.size_bytes + size > self.batch_bytes:
            filled = self.close_open()
        if self.open is None:
            self.open = PendingBatch([record], size, give_up_at)
        else:
            self.open.records.append(record)
            self.open.size_bytes += size
        if self.open.size_bytes >= self.batch_bytes:
            filled = self.close_open()
        return filled

    def close_open(self) -> bool:
        if self.open is None:
            return False
        self.ready.append(self.open)
        self.open = None
        return True

    def may_send(self, now: float) -> bool:
        return (
            bool(self.ready)
            and not self.retry
            and len(self.in_flight) < (self.max_in_flight if self.is_known else 1)
            and now >= self.not_before
        )

    def take(self, codec: int) -> PendingBatch:
        """The next batch, numbered and encoded, now in flight. `identity` must be set."""
        batch = self.ready.popleft()
        identity = self.identity or NO_IDENTITY
        if identity is not NO_IDENTITY and batch.sequence < 0:
            batch.sequence = self.next_sequence
            self.next_sequence = (self.next_sequence + len(batch.records)) & _SEQUENCE_MASK
        if batch.encoded is None:
            batch.encoded = build_batch(
                batch.records,
                codec=codec,
                producer_id=identity.producer_id,
                producer_epoch=identity.epoch,
                base_sequence=batch.sequence,
                is_transactional=self.is_transactional,
            )
        batch.is_unwritten = False  # from now on nobody knows
        self.in_flight.append(batch)
        return batch

    def confirm(self, batch: PendingBatch) -> None:
        self.in_flight.remove(batch)
        self.is_known = True
        self._resume()

    def give_up(self, batch: PendingBatch) -> None:
        self.in_flight.remove(batch)
        self._mark_broken(batch)
        self._resume()

    def take_out(self, batch: PendingBatch, refused: set[int]) -> PendingBatch:
        """Gives up the records at these places of a batch of which nothing was written; the rest goes again.

        They come back as a batch of their own.
        """
        given_up, kept = batch.without(refused)
        self.in_flight.remove(batch)
        if kept.records:
            self.retry.append(kept)
        self._mark_broken(batch)
        self._resume()
        return given_up

    def send_again(self, *batches: PendingBatch, instead_of: PendingBatch, not_before: float) -> None:
        self.in_flight.remove(instead_of)
        self.retry.extend(batches)
        self.not_before = not_before
        self._resume()

    def drop_overdue(self, now: float) -> list[PendingBatch]:
        """Takes out what waited too long and is not in flight."""
        overdue = [batch for batch in self.ready if batch.give_up_at <= now]
        for batch in overdue:
            self.ready.remove(batch)
            self._mark_broken(batch)
        return overdue

    def _mark_broken(self, batch: PendingBatch) -> None:
        """A number that was given out and will not be used leaves a gap."""
        if batch.sequence >= 0:
            self.is_broken = True
            self._renumber_if_known()

    def _resume(self) -> None:
        """Once all have come back, the oldest goes first again."""
        if self.in_flight or not (self.retry or self.is_broken):
            return
        self.retry.sort(key=lambda batch: self._age(batch))
        self.ready.extendleft(reversed(self.retry))
        self.retry.clear()
        self._renumber_if_known()

    def _age(self, batch: PendingBatch) -> int:
        """How many records before the next number, so that a wrap of the numbers does no harm."""
        return -((self.next_sequence - batch.sequence) & _SEQUENCE_MASK) if batch.sequence >= 0 else 0

    def _renumber_if_known(self) -> None:
        if not self.is_broken or self.in_flight or self.retry:
            return
        numbered = [batch for batch in self.ready if batch.sequence >= 0]
        if all(batch.is_unwritten for batch in numbered):
            for batch in numbered:
                batch.sequence, batch.encoded, batch.is_unwritten = -1, None, False
            self.spent_identity = self.identity
            self.identity, self.next_sequence, self.is_known, self.is_broken = None, 0, False, False
