"""The transaction coordinator as heads see it: routes each call to the shard that owns the transactional id.

A shard is a partition of `__transaction_state` that this node leads. Errors are classes of
`mainstem.core.errors`. Where a request meets a transaction whose markers are still being written, it waits a
moment (`end_wait_ms`) before its client is told to ask again.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import Future
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from mainstem.core.coordinator.hashing import partition_of
from mainstem.core.coordinator.runtime import ShardLog, ShardState
from mainstem.core.errors import (
    ConcurrentTransactions,
    InvalidRequest,
    InvalidTransactionTimeout,
    NotCoordinator,
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
from mainstem.ports.clock import Clock, TimerHandle

TRANSACTIONS_TOPIC: Final = "__transaction_state"
MAX_ID_LENGTH: Final = 10_000  # what the key of a record can hold, whatever the encoding
SWEEP_SLICE_IDS: Final = 1_000

R = TypeVar("R")
_log = logging.getLogger(__name__)


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
        self._partition_count = partition_count
        self._shards: dict[int, TransactionShard] = {}
        self._overdue_timer: TimerHandle | None = None
        self._expiry_timer: TimerHandle | None = None

    # --- life

    @property
    def config(self) -> TransactionConfig:
        return self._config

    def update_config(self, config: TransactionConfig) -> None:
        self._config = config

    def set_partition_count(self, partition_count: int) -> None:
        """What the internal topic really has; it is made before the first id is served."""
        self._partition_count = partition_count

    def on_leader(self, partition: int, epoch: int, log: ShardLog) -> None:
        shard = self._shards.get(partition)
        if shard is None:
            name = f"{TRANSACTIONS_TOPIC}-{partition}"
            shard = TransactionShard(name, self._clock, self.delivery, self.counters)
            self._shards[partition] = shard
        shard.runtime.on_leader(epoch, log)
        if self._overdue_timer is None:
            self._schedule_overdue_sweep()
        if self._expiry_timer is None:
            self._schedule_expiry_sweep()

    def on_resigned(self, partition: int, epoch: int) -> None:
        shard = self._shards.get(partition)
        if shard is not None:
            shard.runtime.on_resigned(epoch)

    async def loaded(self) -> None:
        """Waits until no shard is loading."""
        for shard in list(self._shards.values()):
            await shard.runtime.loaded()

    def close(self) -> None:
        """The node stops: what is being ended is ended after the next start."""
        for timer in (self._overdue_timer, self._expiry_timer):
            if timer is not None:
                timer.cancel()
        self._overdue_timer = self._expiry_timer = None
        for shard in self._shards.values():
            shard.runtime.flush()
            shard.runtime.on_resigned(shard.runtime.epoch)

    def _exists(self, topic_partition: TopicPartition) -> bool:
        topic = self._metadata.image.topics.get(topic_partition.topic)
        return topic is not None and 0 <= topic_partition.partition < len(topic.partitions)

    # --- routing

    def partition_for(self, transactional_id: str) -> int:
        """As Kafka computes it, but for ids that name a writer: those of one writer are in one place."""
        return partition_of(routing_part(transactional_id), self._partition_count)

    def _shard(self, transactional_id: str) -> TransactionShard:
        if not transactional_id:
            raise InvalidRequest("a transactional id is not empty")
        if len(transactional_id) > MAX_ID_LENGTH:
            raise InvalidRequest(f"a transactional id has at most {MAX_ID_LENGTH} characters")
        shard = self._shards.get(self.partition_for(transactional_id))
        if shard is None:
            raise NotCoordinator(f"transactional id {transactional_id} is coordinated elsewhere")
        shard.runtime.check_active()
        return shard

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
        found: list[WriterState] = []
        for shard in self._shards.values():
            if shard.runtime.state is ShardState.RESIGNED:
                continue
            shard.runtime.check_active()
            found += [
                WriterState(writer, shard.decisions.get(writer), shard.prepared_by(writer))
                for writer in sorted(shard.writers)
            ]
        return found

    @property
    def prepared_count(self) -> int:
        return sum(shard.prepared_count for shard in self._shards.values())

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
        found: list[KnownTransaction] = []
        for shard in self._shards.values():
            if shard.runtime.state is ShardState.RESIGNED:
                continue
            shard.runtime.check_active()
            found += [
                KnownTransaction(transactional_id, stored)
                for transactional_id, stored in shard.transactions.items()
                if is_wanted(transactional_id, stored)
            ]
        return found

    def state_counts(self) -> Mapping[TransactionState, int]:
        total: Counter[TransactionState] = Counter()
        for shard in self._shards.values():
            total.update(shard.state_counts)
        return total

    def shard_states(self) -> Mapping[int, str]:
        return {partition: shard.runtime.state.value for partition, shard in self._shards.items()}

    # --- time

    def _schedule_overdue_sweep(self) -> None:
        self._overdue_timer = self._clock.call_later(
            self._config.overdue_check_interval_ms, self._sweep_overdue
        )

    def _sweep_overdue(self) -> None:
        now_ms = self._clock.now_ms()
        for shard in self._shards.values():
            if shard.runtime.state is not ShardState.ACTIVE:
                continue
            open_now = [(each, shard.transactions[each]) for each in shard.ongoing]
            for transactional_id, stored in open_now:
                if stored.is_prepared:
                    decide = partial(
                        shard.decide_abandon, transactional_id, now_ms, self._config.prepared_timeout_ms
                    )
                elif stored.overdue_ms <= now_ms:
                    decide = partial(shard.decide_overdue, transactional_id, now_ms)
                else:
                    continue
                self._decide(shard, transactional_id, decide)
        self._schedule_overdue_sweep()

    def _schedule_expiry_sweep(self) -> None:
        self._expiry_timer = self._clock.call_later(
            self._config.expiry_check_interval_ms, self._begin_expiry_sweep
        )

    def _begin_expiry_sweep(self) -> None:
        left: list[tuple[TransactionShard, str]] = []
        now_ms = self._clock.now_ms()
        for shard in self._shards.values():
            if shard.runtime.state is ShardState.ACTIVE:
                left += [(shard, transactional_id) for transactional_id in shard.transactions]
                for writer in list(shard.decisions):
                    kept_ms = self._config.decision_retention_ms
                    decide = partial(shard.decide_forget_writer, writer, now_ms, kept_ms)
                    self._decide(shard, writer_key(writer), decide)
        left.reverse()
        self._sweep_expired(left)

    def _sweep_expired(self, left: list[tuple[TransactionShard, str]]) -> None:
        """A slice now and the rest in later turns: the loop has other things to do."""
        now_ms = self._clock.now_ms()
        for _ in range(min(SWEEP_SLICE_IDS, len(left))):
            shard, transactional_id = left.pop()
            stored = shard.transactions.get(transactional_id)
            was_decided = stored is not None and stored.prepared is not None
            kept_ms = self._config.decided_id_expiration_ms if was_decided else self._config.id_expiration_ms
            self._decide(
                shard, transactional_id, partial(shard.decide_expire, transactional_id, now_ms, kept_ms)
            )
        if left:
            self._expiry_timer = self._clock.call_later(0, lambda: self._sweep_expired(left))
        else:
            self._schedule_expiry_sweep()

    @staticmethod
    def _decide(
        shard: TransactionShard, transactional_id: str, decide: Callable[[], TransactionsResult]
    ) -> None:
        try:
            shard.runtime.run(scope_of(transactional_id), decide)
        except MainstemError as error:
            _log.debug("transactional id %s: not swept: %s", transactional_id, error)
