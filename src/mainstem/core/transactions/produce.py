"""Produce requests that name a transactional id.

They go the way of all others, through checks and staging, but for one stop on the way: a batch that opens a
transaction in its partition waits until the coordinator knows of it (admission.py). Batches of such a
request that are not transactional, as an idempotent producer's, do not stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from mainstem.core.append_turn import AppendTurn
from mainstem.core.errors import (
    InvalidRecord,
    InvalidTransactionState,
    OutOfOrderSequence,
    TransactionAbortable,
)
from mainstem.core.partition import Partition, ProduceResult
from mainstem.core.produce_request import ProduceRequest
from mainstem.core.transactions.admission import TransactionAdmission, TransactionalProducer
from mainstem.core.transactions.unverified_writes import Then
from mainstem.log.staged import StagedBatch
from mainstem.model.errors import PeerError


class ProduceTransaction(NamedTuple):
    """What a produce request says of its transaction, and of its client."""

    transactional_id: str
    adds_partitions: bool = False  # transaction version 2: to write to a partition adds it
    knows_abortable: bool = False  # the client knows what TransactionAbortable tells it to do


class HeldBatches(NamedTuple):
    """The transactional batches for one partition."""

    place: int  # in the request
    partition: Partition
    batches: list[StagedBatch]


def producer_of(batches: Sequence[StagedBatch]) -> tuple[int, int] | None:
    """Id and epoch of the one producer of transactional batches; None for others."""
    header = batches[0].header
    found = (header.producer_id, header.producer_epoch, header.is_transactional)
    for batch in batches[1:]:
        other = batch.header
        if (other.producer_id, other.producer_epoch, other.is_transactional) != found:
            raise InvalidRecord("batches of one partition come from several producers, or are of two kinds")
    return (header.producer_id, header.producer_epoch) if header.is_transactional else None


class TransactionalProduce:
    def __init__(self, admission: TransactionAdmission, turn: AppendTurn) -> None:
        self._admission = admission
        self._turn = turn

    def produce(
        self,
        transaction: ProduceTransaction,
        by_producer: dict[tuple[int, int], list[HeldBatches]],
        request: ProduceRequest,
    ) -> None:
        """Stages each partition's batches as soon as it may take them, or completes its slot."""
        for (producer_id, producer_epoch), held in by_producer.items():
            producer = TransactionalProducer(transaction.transactional_id, producer_id, producer_epoch)
            writes: list[tuple[Partition, Then]] = []
            for each in held:
                then = partial(self._go_on, transaction, each, request)
                if each.partition.log.producers.find_repeated(each.batches[0].header) is not None:
                    then(None)  # nothing will be written: the producer gets the answer that it missed
                else:
                    writes.append((each.partition, then))
            self._admission.admit(producer, writes, adds=transaction.adds_partitions)

    def _go_on(
        self,
        transaction: ProduceTransaction,
        held: HeldBatches,
        request: ProduceRequest,
        error: Exception | None,
    ) -> None:
        place, partition, batches = held
        if error is None:
            error = _misfit(transaction, partition, batches)
        elif isinstance(error, TransactionAbortable) and not transaction.knows_abortable:
            error = InvalidTransactionState(str(error))
        if error is not None:
            request.complete(place, ProduceResult(-1, -1, partition.log_start_offset, error))
        elif partition.stage(batches, request, place):
            self._turn.add(partition)

    def close(self) -> None:
        self._admission.close()


def _misfit(
    transaction: ProduceTransaction, partition: Partition, batches: Sequence[StagedBatch]
) -> PeerError | None:
    """A producer of version 2 begins each epoch at 0, so one that is not known here must do so."""
    header = batches[0].header
    is_unknown = partition.log.producers.get(header.producer_id) is None
    if transaction.adds_partitions and is_unknown and header.base_sequence != 0:
        return OutOfOrderSequence(
            f"producer {header.producer_id} is not known here: it begins at 0, not {header.base_sequence}"
        )
    return None
