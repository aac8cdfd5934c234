"""Which transactional writes a partition takes: only those of a transaction that its coordinator knows.

A write that came late, out of a transaction that was aborted meanwhile, would open a transaction that nobody
ever ends: readers of committed data would wait for it for ever. So the first write of a transaction to a
partition waits for the coordinator's word. With transaction version 2 the question is the partition's
adding as well; a client of before has added it, and the coordinator is only asked.

    the transaction is open in the log     the coordinator knew of it, and has not ended it: go on
    a question is under way                behind the writes that wait for its answer
    neither                                ask

An answer is good only for the writes that asked: a marker that is written meanwhile cuts them off
(`cut_off_unverified`), else the answer to a question about one transaction could let a write into the next.
Writes go on in the order in which they came, in the same step of the loop in which the answer is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from mainstem.config.broker import BrokerConfig
from mainstem.core.errors import (
    ConcurrentTransactions,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    InvalidProducerEpoch,
    InvalidTransactionState,
    NotCoordinator,
    NotEnoughReplicas,
    ProducerFenced,
)
from mainstem.core.partition import Partition
from mainstem.core.transactions.ports import TransactionVerifier
from mainstem.core.transactions.unverified_writes import Then, UnverifiedWrites
from mainstem.model.errors import BrokerError, MainstemError
from mainstem.model.ids import TopicPartition

# What passes by itself: a producer that is told of too few replicas tries the same write again.
_PASSING: Final = (
    ConcurrentTransactions,
    NotCoordinator,
    CoordinatorNotAvailable,
    CoordinatorLoadInProgress,
)


class TransactionalProducer(NamedTuple):
    transactional_id: str
    producer_id: int
    producer_epoch: int


class _Question(NamedTuple):
    partition: Partition
    writes: UnverifiedWrites


def cut_off_unverified(partition: Partition, producer_id: int) -> None:
    """To be called before a marker of the producer is written."""
    writes = partition.unverified.pop(producer_id, None)
    if writes is not None:
        writes.finish(InvalidTransactionState("the transaction ended before this write was verified"))


class TransactionAdmission:
    def __init__(self, verifier: TransactionVerifier, config: Callable[[], BrokerConfig]) -> None:
        self._verifier = verifier
        self._config = config
        self._tasks: set[asyncio.Task[None]] = set()

    def admit(
        self, producer: TransactionalProducer, writes: Sequence[tuple[Partition, Then]], *, adds: bool
    ) -> None:
        """Has each write go on when its partition may take it: now, or when the coordinator said so."""
        questions: list[_Question] = []
        verifies = adds or self._config().transaction_partition_verification_enable
        for partition, then in writes:
            partition.write_staged()  # so that the log knows of transactions that this turn began
            if not verifies or partition.log.producers.has_open_transaction(*producer[1:]):
                then(None)
                continue
            waiting = partition.unverified.get(producer.producer_id)
            if waiting is not None and waiting.producer_epoch != producer.producer_epoch:
                waiting.finish(InvalidProducerEpoch("the producer goes on under another epoch"))
                waiting = None
            if waiting is None:
                waiting = partition.unverified[producer.producer_id] = UnverifiedWrites(
                    producer.producer_epoch
                )
                questions.append(_Question(partition, waiting))
            waiting.add(then)
        if questions:
            task = asyncio.get_running_loop().create_task(self._ask(producer, questions, adds))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _ask(self, producer: TransactionalProducer, questions: list[_Question], adds: bool) -> None:
        answers = await self._verify(producer, questions, adds)
        for question in questions:
            _answer(producer, question, answers.get(question.partition.topic_partition))

    async def _verify(
        self, producer: TransactionalProducer, questions: Sequence[_Question], adds: bool
    ) -> Mapping[TopicPartition, Exception | None]:
        partitions = [question.partition.topic_partition for question in questions]
        try:
            return await self._verifier.verify(*producer, partitions, add=adds)
        except MainstemError as error:
            return dict.fromkeys(partitions, error)
        except Exception as error:  # a defect must not leave a producer without an answer
            failed = BrokerError(
                f"the transaction of {producer.transactional_id} cannot be verified: {error}"
            )
            return dict.fromkeys(partitions, failed)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()


def _answer(producer: TransactionalProducer, question: _Question, error: Exception | None) -> None:
    partition, writes = question
    if partition.unverified.get(producer.producer_id) is writes:
        del partition.unverified[producer.producer_id]
        writes.finish(None if error is None else _as_a_write_is_told(error))


def _as_a_write_is_told(error: Exception) -> Exception:
    if isinstance(error, _PASSING):
        return NotEnoughReplicas(f"the transaction cannot be verified now: {error}")
    if isinstance(error, ProducerFenced):
        return InvalidProducerEpoch(str(error))
    return error
