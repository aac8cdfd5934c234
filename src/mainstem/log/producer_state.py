"""What a partition remembers of each idempotent producer.

A producer numbers its records; a partition takes a batch only when its first number follows the last
one, so that retries neither double nor reorder. The state of a producer id:

- its epoch: an older one is fenced, a newer one starts again at sequence 0;
- its last five batches: a batch whose sequences equal one of them is a duplicate, and is answered
  with the offset it got then;
- the first offset of its open transaction, if it has one.

From the open transactions of all producers follows the *first unstable offset*: the first record whose
fate is not settled, where readers of committed data stop. A transaction that has ended counts as long as
its marker is not committed, for until then nobody may rely on it.

A coordinator writes transactional records too, the offsets that a transaction commits: its batches have
no sequence, and open a transaction like any other.

A producer that is not known, because it is new or was forgotten after `producer.id.expiration.ms`,
may begin at any sequence. Sequences are 31 bits and wrap to 0.

Entries are immutable: an append that fails puts the old ones back. The state is a function of the log:
`producer_snapshot` keeps it beside the segments so that little has to be read again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Final, NamedTuple

from mainstem.log.errors import InvalidProducerEpoch, InvalidTransactionState, OutOfOrderSequence
from mainstem.log.transaction_markers import decode_marker
from mainstem.model.batch import NO_SEQUENCE, BatchHeader, Buffer

MAX_SEQUENCE: Final = 2**31 - 1
BATCHES_KEPT: Final = 5
NO_OFFSET: Final = -1
NOTHING_UNSTABLE: Final = 2**63 - 1  # above every offset


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


class EndedTransaction(NamedTuple):
    """A transaction whose marker was written."""

    producer_id: int
    first_offset: int
    last_offset: int  # of the marker
    last_stable_offset: int  # as it is without this transaction, once the marker is committed
    is_aborted: bool


class ProducerStates:
    """All producers of one partition."""

    __slots__ = ("_ended", "_entries", "_open", "first_unstable_offset")

    def __init__(self, entries: dict[int, ProducerEntry] | None = None) -> None:
        self._entries: dict[int, ProducerEntry] = {}
        self._open: dict[int, int] = {}  # producer id -> first offset of its open transaction, rising
        self._ended: deque[EndedTransaction] = deque()  # with a marker not known to be committed, rising
        self.first_unstable_offset = NOTHING_UNSTABLE  # of the transactions in the two above
        if entries:
            self.replace(entries)

    @property
    def entries(self) -> Mapping[int, ProducerEntry]:
        return self._entries

    @property
    def open_transactions(self) -> Mapping[int, int]:
        """Producer id and first offset, the oldest transaction first."""
        return self._open

    @property
    def has_ended(self) -> bool:
        """Whether `settle` has something to do."""
        return bool(self._ended)

    def get(self, producer_id: int) -> ProducerEntry | None:
        return self._entries.get(producer_id)

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        entry = self._entries.get(producer_id)
        return (
            entry is not None
            and entry.epoch == producer_epoch
            and entry.transaction_first_offset != NO_OFFSET
        )

    def restore(self, producer_id: int, entry: ProducerEntry | None) -> None:
        """Puts back what `get` gave before an append that failed."""
        if entry is None:
            self._entries.pop(producer_id, None)
        else:
            self._entries[producer_id] = entry
        is_open = entry is not None and entry.transaction_first_offset != NO_OFFSET
        if is_open or producer_id in self._open:
            self._find_open()

    def replace(self, entries: dict[int, ProducerEntry]) -> None:
        self._entries = entries
        self._find_open()

    def _find_open(self) -> None:
        found = [
            (producer_id, entry.transaction_first_offset)
            for producer_id, entry in self._entries.items()
            if entry.transaction_first_offset != NO_OFFSET
        ]
        self._open = dict(sorted(found, key=itemgetter(1)))
        self._find_unstable()

    def _find_unstable(self) -> None:
        first = next(iter(self._open.values()), NOTHING_UNSTABLE)
        self.first_unstable_offset = min([first, *[ended.first_offset for ended in self._ended]])

    def note_ended(self, ended: Iterable[EndedTransaction]) -> None:
        """Their markers are in the log now, and to be committed."""
        self._ended.extend(ended)
        self._find_unstable()

    def settle(self, high_watermark: int) -> None:
        """What stands below the high watermark is committed, markers too."""
        ended = self._ended
        while ended and ended[0].last_offset < high_watermark:
            ended.popleft()
        self._find_unstable()

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
        if first == NO_SEQUENCE:
            return None  # of a coordinator
        if entry.transaction_first_offset != NO_OFFSET and not header.is_transactional:
            return self._outside_transaction(header, entry)
        if epoch > entry.epoch:
            if first != 0:
                raise OutOfOrderSequence(f"a new epoch begins at sequence 0, not {first}")
            return None
        last = entry.last_sequence
        if first == last + 1 or (first == 0 and last == MAX_SEQUENCE):
            return None
        known = _repeated(header, entry)
        if known is not None:
            return known
        raise OutOfOrderSequence(
            f"producer {header.producer_id}: sequence {first} does not follow {last} (epoch {epoch})"
        )

    def find_repeated(self, header: BatchHeader) -> SequenceRange | None:
        """The batch that this one repeats, if it is one of the last of its producer."""
        entry = self._entries.get(header.producer_id)
        if entry is None or entry.epoch != header.producer_epoch:
            return None
        return _repeated(header, entry)

    @staticmethod
    def _outside_transaction(header: BatchHeader, entry: ProducerEntry) -> SequenceRange:
        """A batch that is not transactional while a transaction is open: a repeat, or an error."""
        known = _repeated(header, entry) if header.producer_epoch == entry.epoch else None
        if known is None:
            raise InvalidTransactionState(
                f"producer {header.producer_id} writes outside its transaction, which is open since offset "
                f"{entry.transaction_first_offset}: end it first"
            )
        return known

    def update(self, header: BatchHeader, base_offset: int) -> None:
        """Takes note of a data batch that was written at `base_offset`."""
        entries = self._entries
        entry = entries.get(header.producer_id)
        batches: tuple[SequenceRange, ...] = ()
        coordinator_epoch, first_offset = -1, NO_OFFSET
        if entry is not None:
            if entry.epoch == header.producer_epoch:
                batches = entry.batches[1 - BATCHES_KEPT :]
            coordinator_epoch, first_offset = entry.coordinator_epoch, entry.transaction_first_offset
        if header.base_sequence != NO_SEQUENCE:
            delta = header.last_offset_delta
            last_sequence = advance_sequence(header.base_sequence, delta)
            taken = SequenceRange(last_sequence, base_offset + delta, delta, header.max_timestamp)
            batches = (*batches, taken)
        # What compaction has emptied is of a transaction that has ended.
        if header.is_transactional and first_offset == NO_OFFSET and header.record_count:
            first_offset = base_offset
            self._open[header.producer_id] = base_offset
            if self.first_unstable_offset > base_offset:
                self.first_unstable_offset = base_offset
        entries[header.producer_id] = ProducerEntry(
            header.producer_epoch, batches, header.max_timestamp, coordinator_epoch, first_offset
        )

    def update_from_marker(
        self, header: BatchHeader, batch: Buffer, base_offset: int
    ) -> EndedTransaction | None:
        """Takes note of a control batch at `base_offset`: the transaction that it ends, if one was open."""
        marker = decode_marker(header, batch)
        if marker is None:
            return None
        entries = self._entries
        producer_id = header.producer_id
        entry = entries.get(producer_id)
        batches = entry.batches if entry is not None and entry.epoch == header.producer_epoch else ()
        entries[producer_id] = ProducerEntry(
            header.producer_epoch, batches, header.max_timestamp, marker.coordinator_epoch, NO_OFFSET
        )
        first_offset = self._open.pop(producer_id, None)
        if first_offset is None:
            return None
        self._find_unstable()
        stable = next(iter(self._open.values()), base_offset + 1)
        return EndedTransaction(producer_id, first_offset, base_offset, stable, not marker.is_commit)

    def replay(self, header: BatchHeader, batch: Buffer) -> EndedTransaction | None:
        """Applies a batch that is already in the log."""
        if header.producer_id < 0:
            return None
        if header.is_control:
            return self.update_from_marker(header, batch, header.base_offset)
        if header.base_sequence >= 0 or header.is_transactional:
            self.update(header, header.base_offset)
        return None

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


def _repeated(header: BatchHeader, entry: ProducerEntry) -> SequenceRange | None:
    delta, first = header.last_offset_delta, header.base_sequence
    for known in entry.batches:
        if known.offset_delta == delta and known.first_sequence == first:
            return known
    return None
