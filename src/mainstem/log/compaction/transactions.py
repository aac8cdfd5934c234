"""What compaction has to know of transactions while it walks through a log from its beginning.

- Records of an aborted transaction are nobody's: they go.
- A marker stays until none of its transaction's batches is left, because readers need it to know where
  a transaction ends; then it waits for `delete.retention.ms` like a tombstone, so that a reader who is in
  the middle of the transaction still meets its end.
- The index of aborted transactions of the cleaned segment gets the transactions of which a batch was met.

The state lasts from one group of segments to the next: transactions cross their borders.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from struct import Struct
from typing import Final

from mainstem.log.errors import LogCorrupt
from mainstem.log.segment import Segment
from mainstem.log.transaction_index import AbortedTransaction
from mainstem.model.batch import BatchHeader, Buffer
from mainstem.model.errors import MalformedRecords
from mainstem.model.records import decode_records

_MARKER_KEY: Final = Struct(">hh")  # version, type
_ABORT: Final = 0
_COMMIT: Final = 1
_MAX_MARKER_BYTES: Final = 4096


class _Aborted:
    __slots__ = ("has_batches", "transaction")

    def __init__(self, transaction: AbortedTransaction) -> None:
        self.transaction = transaction
        self.has_batches = False


class TransactionTracker:
    def __init__(self) -> None:
        self.retained: list[AbortedTransaction] = []  # for the index of the group that is written
        self._coming: list[tuple[int, AbortedTransaction]] = []  # a heap by first offset
        self._known: set[tuple[int, int]] = set()  # producer and first offset of what came or is coming
        self._aborted: dict[int, _Aborted] = {}
        self._committed: set[int] = set()  # producers with batches of a transaction that was not aborted

    def announce(self, transactions: Iterable[AbortedTransaction]) -> None:
        """What the indexes say of the segment that is walked through next; again is fine."""
        for transaction in transactions:
            name = transaction.producer_id, transaction.first_offset
            if name not in self._known:
                self._known.add(name)
                heappush(self._coming, (transaction.first_offset, transaction))

    def _begin_up_to(self, offset: int) -> None:
        while self._coming and self._coming[0][0] <= offset:
            _, transaction = heappop(self._coming)
            self._aborted.setdefault(transaction.producer_id, _Aborted(transaction))

    def is_aborted(self, header: BatchHeader) -> bool:
        """Of a transactional batch of records: whether they go."""
        self._begin_up_to(header.last_offset)
        aborted = self._aborted.get(header.producer_id)
        if aborted is None:
            self._committed.add(header.producer_id)
            return False
        aborted.has_batches = True
        return True

    def has_ended_empty(self, header: BatchHeader, batch: Buffer) -> bool:
        """Of a control batch: whether nothing is left of the transaction that it ends."""
        self._begin_up_to(header.last_offset)
        kind = marker_kind(header, batch)
        if kind is None:
            return True
        if kind == _ABORT:
            aborted = self._aborted.pop(header.producer_id, None)
            if aborted is None:
                return True
            self._known.discard((header.producer_id, aborted.transaction.first_offset))
            if aborted.has_batches:
                self.retained.append(aborted.transaction)
            return not aborted.has_batches
        if kind == _COMMIT:
            had_batches = header.producer_id in self._committed
            self._committed.discard(header.producer_id)
            return not had_batches
        return False  # not a transaction's: never ours to drop


def marker_kind(header: BatchHeader, batch: Buffer) -> int | None:
    """The type of a control record; None for a batch that was emptied."""
    if header.record_count == 0:
        return None
    try:
        key = decode_records(batch, header=header, max_bytes=_MAX_MARKER_BYTES)[0].key
    except MalformedRecords as error:
        raise LogCorrupt(
            f"the control batch at offset {header.base_offset} cannot be read: {error}"
        ) from error
    if key is None or len(key) < _MARKER_KEY.size:
        raise LogCorrupt(f"the control record at offset {header.base_offset} has no type")
    return int(_MARKER_KEY.unpack_from(key)[1])


def aborted_transactions(
    segments: Sequence[Segment], number: int, from_offset: int, end_offset: int
) -> list[AbortedTransaction]:
    """Those with a record or their marker between the offsets, the second of which ends segment `number`.

    One that ended before the first, whose marker nobody meets any more, would be taken for the producer's
    next. The markers may lie in later segments: the search ends with the first entry that was written when
    everything before `end_offset` was decided.
    """
    found: list[AbortedTransaction] = []
    for segment in segments[number:]:
        if not segment.aborted_count:
            continue
        for entry in segment.transaction_index.read_all():
            if entry.last_offset >= from_offset and entry.first_offset < end_offset:
                found.append(entry)
            if entry.last_stable_offset >= end_offset:
                return found
    return found
