"""The transaction coordinator as heads see it: routes each call to the shard that owns the transactional id.

A shard is a partition of `__transaction_state` that this node leads. Errors are classes of
`mainstem.core.errors`. Where a request meets a transaction whose markers are still being written, it waits a
moment (`end_wait_ms`) before its client is told to ask again.
"""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from mainstem.core.coordinator.led_shards import LedShards
from mainstem.core.coordinator.runtime import ShardLog
from mainstem.core.coordinator.sweep import Sweep
from mainstem.core.errors import (
    ConcurrentTransactions,
    InvalidRequest,
    InvalidTransactionTimeout,
    TransactionAbortable,
    TransactionalIdNotFound,
)
from mainstem.core.ports import MetadataSource
from mainstem.core.transactions import transitions
from mainstem.core.transactions.config import TransactionConfig
from mainstem.core.transactions.listing import KnownTransaction, TransactionFilter
from mainstem.core.transactions.markers import MarkerDelivery
from mainstem.core.transactions.ports import MarkerSink
from mainstem.core.transactions.prepared import Decision
from mainstem.core.transactions.shard import (
    TransactionCounters,
    TransactionShard,
    TransactionsResult,
    scope_of,
)
from mainstem.core.transactions.states import ENDING, TransactionState
from mainstem.core.transactions.transaction import SECOND_PROTOCOL, StoredTransaction
from mainstem.core.transactions.transitions import ProducerIdentity, ProducerIdNeeded
from mainstem.core.transactions.writers import check_writer, routing_part, writer_key
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicPartition
from mainstem.ports.clock import Clock

TRANSACTIONS_TOPIC: Final = "__transaction_state"
MAX_ID_LENGTH: Final = 10_000  # what the key of a record can hold, whatever the encoding

R = TypeVar("R")


class WriterState(NamedTuple):
    writer: str
    decision: Decision | None  # its last one
    prepared: Mapping[str, StoredTransaction]  # what waits for the next, or is being ended


class ProducerIdSource(Protocol):
    async def allocate(self) -> int: ...


class TransactionCoordinator:
    """A `TransactionVerifier` too."""

    def __init__(
        self,
        clock: Clock,
        config: TransactionConfig,
        metadata: MetadataSource,
        producer_ids: ProducerIdSource,
        sink: MarkerSink,
        *,
        partition_count: int = 50,
    ) -> None:
        self.counters = TransactionCounters()
        self.delivery = MarkerDelivery(clock, sink, self._exists)
        self._clock = clock
        self._config = config
        self._metadata = metadata
        self._producer_ids = producer_ids
        self._shards: LedShards[TransactionShard] = LedShards(
            TRANSACTIONS_TOPIC, partition_count, self._new_shard
        )
        self._sweeps = (
            Sweep(
                clock,
                self._shards,
                lambda: self._config.overdue_check_interval_ms,
                lambda shard: shard.ongoing,
                self._end_overdue,
            ),
            Sweep(
                clock,
                self._shards,
                lambda: self._config.expiry_check_interval_ms,
                lambda shard: shard.decisions,
                self._forget_writer,
            ),
            Sweep(
                clock,
                self._shards,
                lambda: self._config.expiry_check_interval_ms,
                lambda shard: shard.transactions,
                self._expire,
            ),
        )

    def _new_shard(self, name: str) -> TransactionShard:
        return TransactionShard(name, self._clock, self.delivery, self.counters)

    # --- life

    @property
    def config(self) -> TransactionConfig:
        return self._config

    def update_config(self, config: TransactionConfig) -> None:
        self._config = config

    def set_partition_count(self, partition_count: int) -> None:
        """What the internal topic really has; it is made before the first id is served."""
        self._shards.partition_count = partition_count

    def on_leader(self, partition: int, epoch: int, log: ShardLog) -> None:
        self._shards.on_leader(partition, epoch, log)
        for sweep in self._sweeps:
            sweep.start()

    def on_resigned(self, partition: int, epoch: int) -> None:
        self._shards.on_resigned(partition, epoch)

    async def loaded(self) -> None:
        """Waits until no shard is loading."""
        await self._shards.loaded()

    def close(self) -> None:
        """The node stops: what is being ended is ended after the next start."""
        for sweep in self._sweeps:
            sweep.stop()
        self._shards.close()

    def _exists(self, topic_partition: TopicPartition) -> bool:
        topic = self._metadata.image.topics.get(topic_partition.topic)
        return topic is not None and 0 <= topic_partition.partition < len(topic.partitions)

    # --- routing

    def partition_for(self, transactional_id: str) -> int:
        """That of the whole id, but for ids that name a writer: those of one writer are in one place."""
        return self._shards.partition_for(routing_part(transactional_id))

    def _shard(self, transactional_id: str) -> TransactionShard:
        if not transactional_id:
            raise InvalidRequest("a transactional id is not empty")
        if len(transactional_id) > MAX_ID_LENGTH:
            raise InvalidRequest(f"a transactional id has at most {MAX_ID_LENGTH} characters")
        return self._shards.serving(
            self.partition_for(transactional_id), "transactional id", transactional_id
        )

    async def _run(
        self, transactional_id: str, decide: Callable[[TransactionShard, Future[Any]], TransactionsResult]
    ) -> Any:
        shard = self._shard(transactional_id)
        waiter: Future[Any] = asyncio.get_running_loop().create_future()
        shard.runtime.run(scope_of(transactional_id), lambda: decide(shard, waiter))
        return await waiter

    async def _run_with_id(
        self,
        transactional_id: str,
        decide: Callable[[TransactionShard, int | None, Future[Any]], TransactionsResult],
    ) -> Any:
        """A decision that may need a producer id, which is fetched only then."""
        try:
            return await self._run(transactional_id, lambda shard, waiter: decide(shard, None, waiter))
        except ProducerIdNeeded:
            fresh = await self._producer_ids.allocate()
            return await self._run(transactional_id, lambda shard, waiter: decide(shard, fresh, waiter))

    async def _after_former(self, transactional_id: str, attempt: Callable[[], Awaitable[R]]) -> R:
        """Attempts it a second time when the transaction before is complete."""
        try:
            return await attempt()
        except ConcurrentTransactions:
            await self._shard(transactional_id).wait_for_end(transactional_id, self._config.end_wait_ms)
            return await attempt()

    # --- producers

    async def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdentity | None = None
    ) -> ProducerIdentity:
        if not 0 < timeout_ms <= self._config.max_timeout_ms:
            raise InvalidTransactionTimeout(
                f"a transaction's time-out is between 1 and {self._config.max_timeout_ms} ms "
                "(transaction.max.timeout.ms)"
            )

        async def attempt() -> ProducerIdentity:
            stored: StoredTransaction = await self._run_with_id(
                transactional_id,
                lambda shard, fresh, waiter: shard.decide_init(
                    transactional_id, expected, timeout_ms, fresh, waiter
                ),
            )
            if stored.state in ENDING:
                raise ConcurrentTransactions("an open transaction of this id is being aborted")
            return ProducerIdentity(stored.producer_id, stored.producer_epoch)

        return await self._after_former(transactional_id, attempt)

    async def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: Collection[TopicPartition],
        protocol: int,
    ) -> None:
        """Puts them into the producer's open transaction, which begins now if there is none."""

        async def attempt() -> None:
            await self._run(
                transactional_id,
                lambda shard, waiter: shard.decide_add(
                    transactional_id, producer, partitions, protocol, waiter
                ),
            )

        await self._after_former(transactional_id, attempt)

    async def end(
        self, transactional_id: str, producer: ProducerIdentity, is_commit: bool, protocol: int
    ) -> ProducerIdentity:
        """Returns when the end is certain; the producer goes on with what is returned."""
        told: ProducerIdentity = await self._run_with_id(
            transactional_id,
            lambda shard, fresh, waiter: shard.decide_end(
                transactional_id, producer, is_commit, protocol, fresh, waiter
            ),
        )
        return told

    async def verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
        *,
        add: bool,
    ) -> Mapping[TopicPartition, Exception | None]:
        producer = ProducerIdentity(producer_id, producer_epoch)
        try:
            if add:
                await self.add_partitions(transactional_id, producer, partitions, SECOND_PROTOCOL)
                return dict.fromkeys(partitions)
            return self._verify(transactional_id, producer, partitions)
        except MainstemError as error:
            return dict.fromkeys(partitions, error)

    def _verify(
        self, transactional_id: str, producer: ProducerIdentity, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Exception | None]:
        stored = self._shard(transactional_id).transactions.get(transactional_id)
        known = transitions.check_open(stored, producer)
        return {
            partition: None
            if partition in known
            else TransactionAbortable(f"{partition} is not in the transaction of {transactional_id}")
            for partition in partitions
        }

    # --- prepared transactions

    async def prepare(self, transactional_id: str, producer: ProducerIdentity, number: int) -> None:
        """Gives the open transaction into the hands of its writer's decision of this number."""
        await self._run(
            transactional_id,
            lambda shard, waiter: shard.decide_prepare(transactional_id, producer, number, waiter),
        )

    async def decide(self, writer: str, number: int, committed: Collection[str]) -> Decision:
        """Commits these and aborts the writer's others; or, where it was decided before, says how."""
        check_writer(writer)
        key = writer_key(writer)

        async def attempt() -> Decision:
            decision: Decision = await self._run(
                key, lambda shard, waiter: shard.decide_group(writer, number, committed, waiter)
            )
            return decision

        try:
            return await attempt()
        except ConcurrentTransactions:
            shard = self._shard(key)
            for transactional_id in shard.prepared_by(writer):
                await shard.wait_for_end(transactional_id, self._config.end_wait_ms)
            return await attempt()

    def describe_writer(self, writer: str) -> WriterState:
        check_writer(writer)
        shard = self._shard(writer_key(writer))
        return WriterState(writer, shard.decisions.get(writer), shard.prepared_by(writer))

    def list_writers(self) -> list[WriterState]:
        """Of the shards that this node leads."""
        return [
            WriterState(writer, shard.decisions.get(writer), shard.prepared_by(writer))
            for shard in self._shards.led()
            for writer in sorted(shard.writers)
        ]

    @property
    def prepared_count(self) -> int:
        return sum(shard.prepared_count for shard in self._shards)

    # --- for tools

    def describe(self, transactional_id: str) -> StoredTransaction:
        stored = self._shard(transactional_id).transactions.get(transactional_id)
        if stored is None:
            raise TransactionalIdNotFound(f"there is no transactional id {transactional_id}")
        return stored

    async def abort(self, transactional_id: str) -> None:
        """Ends what is open under the id, against its producer. Returns when that is certain."""
        await self._run(transactional_id, lambda shard, waiter: shard.decide_abort(transactional_id, waiter))

    def list_transactions(self, wanted: TransactionFilter) -> list[KnownTransaction]:
        """Of the shards that this node leads."""
        is_wanted = wanted.compile(self._clock.now_ms())
        return [
            KnownTransaction(transactional_id, stored)
            for shard in self._shards.led()
            for transactional_id, stored in shard.transactions.items()
            if is_wanted(transactional_id, stored)
        ]

    def state_counts(self) -> Mapping[TransactionState, int]:
        total: Counter[TransactionState] = Counter()
        for shard in self._shards:
            total.update(shard.state_counts)
        return total

    def shard_states(self) -> Mapping[int, str]:
        return self._shards.states()

    # --- time

    def _end_overdue(self, shard: TransactionShard, transactional_id: str, now_ms: int) -> None:
        stored = shard.transactions.get(transactional_id)
        if stored is None:
            return
        if stored.is_prepared:
            decide = partial(shard.decide_abandon, transactional_id, now_ms, self._config.prepared_timeout_ms)
        elif stored.overdue_ms <= now_ms:
            decide = partial(shard.decide_overdue, transactional_id, now_ms)
        else:
            return
        shard.runtime.run(scope_of(transactional_id), decide)

    def _forget_writer(self, shard: TransactionShard, writer: str, now_ms: int) -> None:
        kept_ms = self._config.decision_retention_ms
        decide = partial(shard.decide_forget_writer, writer, now_ms, kept_ms)
        shard.runtime.run(scope_of(writer_key(writer)), decide)

    def _expire(self, shard: TransactionShard, transactional_id: str, now_ms: int) -> None:
        stored = shard.transactions.get(transactional_id)
        was_decided = stored is not None and stored.prepared is not None
        kept_ms = self._config.decided_id_expiration_ms if was_decided else self._config.id_expiration_ms
        decide = partial(shard.decide_expire, transactional_id, now_ms, kept_ms)
        shard.runtime.run(scope_of(transactional_id), decide)
