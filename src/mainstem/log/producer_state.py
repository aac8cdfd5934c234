"""What a partition remembers of each idempotent producer.

A producer numbers its records; a partition takes a batch only when its first number follows the last
one, so that retries neither double nor reorder. The state of a producer id:

- its epoch: an older one is fenced, a newer one starts again at sequence 0;
- its last five batches: a batch whose sequences equal one of them is a duplicate, and is answered
  with the offset it got then;
- the first offset of its open transaction, if it has one.

A producer that is not known, because it is new or was forgotten after `producer.id.expiration.ms`,
may begin at any sequence. Sequences are 31 bits and wrap to 0.

Entries are immutable: an append that fails puts the old ones back. The state is a function of the log:
`producer_snapshot` keeps it beside the segments so that little has to be read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import Final, NamedTuple

from mainstem.log.errors import InvalidProducerEpoch, InvalidRecord, OutOfOrderSequence
from mainstem.model.batch import NO_SEQUENCE, BatchHeader, Buffer
from mainstem.model.records import decode_records

MAX_SEQUENCE: Final = 2**31 - 1
BATCHES_KEPT: Final = 5
NO_OFFSET: Final = -1

_MARKER_KEY: Final = Struct(">hh")  # version, type
_MARKER_VALUE: Final = Struct(">hi")  # version, coordinator epoch
_MARKER_TYPES: Final = (0, 1)  # abort, commit
_MAX_MARKER_BYTES: Final = 4096


def advance_sequence(sequence: int, by: int) -> int:
    following = sequence + by
    return following if following <= MAX_SEQUENCE else following - MAX_SEQUENCE - 1


class SequenceRange(NamedTuple):
    """One batch that was taken."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp_ms: int

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta

    @property
    def first_sequence(self) -> int:
        first = self.last_sequence - self.offset_delta
        return first if first >= 0 else first + MAX_SEQUENCE + 1


class ProducerEntry(NamedTuple):
    epoch: int
    batches: tuple[SequenceRange, ...]  # oldest first, at most five, all of this epoch
    last_timestamp_ms: int
    coordinator_epoch: int = -1
    transaction_first_offset: int = NO_OFFSET

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


class ProducerStates:
    """All producers of one partition."""

    __slots__ = ("_entries",)

    def __init__(self, entries: dict[int, ProducerEntry] | None = None) -> None:
        self._entries = {} if entries is None else entries

    @property
    def entries(self) -> Mapping[int, ProducerEntry]:
        return self._entries

    def get(self, producer_id: int) -> ProducerEntry | None:
        return self._entries.get(producer_id)

    def restore(self, producer_id: int, entry: ProducerEntry | None) -> None:
        """Puts back what `get` gave before an append that failed."""
        if entry is None:
            self._entries.pop(producer_id, None)
        else:
            self._entries[producer_id] = entry

    def replace(self, entries: dict[int, ProducerEntry]) -> None:
        self._entries = entries

    def check(self, header: BatchHeader) -> SequenceRange | None:
        """None: the batch is next in line. Otherwise the range it repeats, or an error."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            return None
        epoch = header.producer_epoch
        if epoch < entry.epoch:
            raise InvalidProducerEpoch(
                f"producer {header.producer_id} has epoch {entry.epoch}, the batch has {epoch}"
            )
        if header.is_control:
            return None
        first = header.base_sequence
        if epoch > entry.epoch:
            if first != 0:
                raise OutOfOrderSequence(f"a new epoch begins at sequence 0, not {first}")
            return None
        last = entry.last_sequence
        if first == last + 1 or (first == 0 and last == MAX_SEQUENCE):
            return None
        count_delta = header.last_offset_delta
        for known in entry.batches:
            if known.offset_delta == count_delta and known.first_sequence == first:
                return known
        raise OutOfOrderSequence(
            f"producer {header.producer_id}: sequence {first} does not follow {last} (epoch {epoch})"
        )

    def update(self, header: BatchHeader, base_offset: int) -> None:
        """Takes note of a data batch that was written at `base_offset`."""
        entries = self._entries
        entry = entries.get(header.producer_id)
        delta = header.last_offset_delta
        taken = SequenceRange(
            advance_sequence(header.base_sequence, delta), base_offset + delta, delta, header.max_timestamp
        )
        if entry is None:
            batches: tuple[SequenceRange, ...] = (taken,)
            coordinator_epoch, first_offset = -1, NO_OFFSET
        else:
            batches = (
                (*entry.batches[1 - BATCHES_KEPT :], taken)
                if entry.epoch == header.producer_epoch
                else (taken,)
            )
            coordinator_epoch, first_offset = entry.coordinator_epoch, entry.transaction_first_offset
        if header.is_transactional and first_offset == NO_OFFSET:
            first_offset = base_offset
        entries[header.producer_id] = ProducerEntry(
            header.producer_epoch, batches, header.max_timestamp, coordinator_epoch, first_offset
        )

    def update_from_marker(self, header: BatchHeader, batch: Buffer) -> None:
        """Takes note of a control batch: a commit or abort marker ends the open transaction."""
        coordinator_epoch = marker_coordinator_epoch(header, batch)
        if coordinator_epoch is None:
            return
        entries = self._entries
        entry = entries.get(header.producer_id)
        batches = entry.batches if entry is not None and entry.epoch == header.producer_epoch else ()
        entries[header.producer_id] = ProducerEntry(
            header.producer_epoch, batches, header.max_timestamp, coordinator_epoch, NO_OFFSET
        )

    def replay(self, header: BatchHeader, batch: Buffer) -> None:
        """Applies a batch that is already in the log."""
        if header.producer_id < 0:
            return
        if header.is_control:
            self.update_from_marker(header, batch)
        elif header.base_sequence >= 0:
            self.update(header, header.base_offset)

    def first_open_transaction_offset(self) -> int | None:
        """Where the oldest open transaction begins: readers of committed data stop before it."""
        open_ones = [
            entry.transaction_first_offset
            for entry in self._entries.values()
            if entry.transaction_first_offset != NO_OFFSET
        ]
        return min(open_ones, default=None)

    def remove_expired(self, now_ms: int, expiration_ms: int) -> int:
        """Forgets producers that were idle that long and have no open transaction."""
        entries = self._entries
        expired = [
            producer_id
            for producer_id, entry in entries.items()
            if entry.transaction_first_offset == NO_OFFSET
            and now_ms - entry.last_timestamp_ms >= expiration_ms
        ]
        for producer_id in expired:
            del entries[producer_id]
        return len(expired)


def marker_coordinator_epoch(header: BatchHeader, batch: Buffer) -> int | None:
    """The coordinator's epoch in a transaction marker; None for control records of other kinds.

    None as well for a marker that compaction emptied: nothing is left of its transaction.
    """
    if header.record_count == 0:
        return None
    records = decode_records(batch, header=header, max_bytes=_MAX_MARKER_BYTES)
    key, value = records[0].key, records[0].value
    if key is None or len(key) < _MARKER_KEY.size:
        raise InvalidRecord("a control record without a type")
    if _MARKER_KEY.unpack_from(key)[1] not in _MARKER_TYPES:
        return None
    if value is None or len(value) < _MARKER_VALUE.size:
        raise InvalidRecord("a transaction marker without a coordinator epoch")
    return int(_MARKER_VALUE.unpack_from(value)[1])
