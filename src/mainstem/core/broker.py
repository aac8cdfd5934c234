"""The facade that every head calls: produce, fetch, offsets, groups, administration.

A head translates its protocol into these calls and their errors back. What only passes through here
(topic administration, groups) is reached as an attribute; what touches partitions is a method.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mainstem.config.broker import BrokerConfig
from mainstem.config.value import LONG_MAX
from mainstem.core.append_turn import AppendTurn
from mainstem.core.errors import (
    InconsistentTopicId,
    InvalidRequest,
    InvalidTopicName,
    InvalidTransactionState,
    NotEnoughReplicas,
    UnknownTopicId,
)
from mainstem.core.fetch_request import FetchDone, FetchEntry, FetchLimits, FetchRequest
from mainstem.core.groups.coordinator import GroupCoordinator
from mainstem.core.identity.authorizer import Authorizer
from mainstem.core.image import ClusterImage
from mainstem.core.loggers import BrokerLoggers
from mainstem.core.partition import Partition, ProduceResult
from mainstem.core.ports import AclAdmin, MetadataSource, TopicAdmin
from mainstem.core.produce_request import ProduceDone, ProduceRequest
from mainstem.core.producer_ids import ProducerIds
from mainstem.core.quotas.clients import ClientQuotas
from mainstem.core.replicas import Replicas
from mainstem.core.slices import Slices
from mainstem.core.transactions.admission import TransactionAdmission
from mainstem.core.transactions.coordinator import TransactionCoordinator
from mainstem.core.transactions.marker_writes import LocalMarkers
from mainstem.core.transactions.offset_commits import TransactionalOffsets
from mainstem.core.transactions.ports import TransactionVerifier
from mainstem.core.transactions.produce import (
    HeldBatches,
    ProduceTransaction,
    TransactionalProduce,
    producer_of,
)
from mainstem.log.directories import DirectoryDescription as DirectoryDescription
from mainstem.log.directories import LogDirectories
from mainstem.log.timestamp_lookup import TimestampOffset
from mainstem.log.validation import PLAIN_ATTRIBUTES, TRANSACTIONAL_ATTRIBUTES, stage_batches
from mainstem.model.batch import Buffer
from mainstem.model.errors import MainstemError, PeerError
from mainstem.model.ids import ZERO_TOPIC_ID, TopicId, TopicPartition
from mainstem.ports.clock import Clock, TimerHandle

ALL_REPLICAS = -1  # acks: wait for the in-sync replicas
HIGH_WATERMARK = -1  # delete_records: everything that is committed
_EXPIRY_SWEEP_MS = 250.0


class ProduceEntry(NamedTuple):
    topic: str
    partition: int
    records: Buffer | None


class RecordDeletion(NamedTuple):
    topic: str
    partition: int
    before_offset: int  # or HIGH_WATERMARK


@dataclass(frozen=True, slots=True)
class BrokerServices:
    """What the facade stands on; put together by the composition root."""

    metadata: MetadataSource
    admin: TopicAdmin
    replicas: Replicas
    directories: LogDirectories
    groups: GroupCoordinator
    quotas: ClientQuotas
    transactions: TransactionCoordinator
    turn: AppendTurn
    clock: Clock
    config: Callable[[], BrokerConfig]
    acls: AclAdmin
    authorizer: Authorizer | None = None  # None: everybody may do everything
    verifier: TransactionVerifier | None = None  # None: there is no transaction coordinator


class Broker:
    def __init__(self, services: BrokerServices) -> None:
        self.admin = services.admin
        self.acls = services.acls
        self.authorizer = services.authorizer
        self.groups = services.groups
        self.quotas = services.quotas
        self.transactions = services.transactions
        self.clock = services.clock
        self.loggers = BrokerLoggers()
        self.replicas = services.replicas
        self._metadata = services.metadata
        self._directories = services.directories
        self._turn = services.turn
        self._config = services.config
        self._producer_ids = ProducerIds(services.admin)
        self.markers = LocalMarkers(services.replicas, services.groups, services.clock)
        self._transactional: TransactionalProduce | None = None
        self.transactional_offsets: TransactionalOffsets | None = None
        if services.verifier is not None:
            admission = TransactionAdmission(services.verifier, services.config)
            self._transactional = TransactionalProduce(admission, services.turn)
            self.transactional_offsets = TransactionalOffsets(services.replicas, services.groups, admission)
        self._waiting: set[ProduceRequest] = set()  # only those that wait for a flush
        self._sweep: TimerHandle | None = None

    @property
    def image(self) -> ClusterImage:
        return self._metadata.image

    @property
    def config(self) -> BrokerConfig:
        return self._config()

    # ------------------------------------------------------------------ produce and fetch

    @property
    def serves_transactions(self) -> bool:
        return self._transactional is not None

    def produce(
        self,
        entries: Sequence[ProduceEntry],
        *,
        acks: int,
        timeout_ms: int,
        done: ProduceDone,
        transaction: ProduceTransaction | None = None,
    ) -> None:
        """Writes at the end of this turn, or once the transaction is verified.

        `done` gets a result per entry, in their order.
        The records' memory must stay as it is until `done` was called, and where a result says that
        time ran out, for good: the write may still be under way.
        """
        if not entries:
            done([])
            return
        request = ProduceRequest(len(entries), done)
        waits_for_disk = False
        partitions = self.replicas.partitions
        now_ms = self.clock.now_ms()
        legal_attributes = PLAIN_ATTRIBUTES if transaction is None else TRANSACTIONAL_ATTRIBUTES
        held: dict[tuple[int, int], list[HeldBatches]] = {}
        for index, entry in enumerate(entries):
            partition = partitions.get((entry.topic, entry.partition))
            try:
                if partition is None:
                    partition = self.replicas.get(entry.topic, entry.partition)
                config = partition.log.config
                if acks == ALL_REPLICAS and partition.isr_size < config.min_insync_replicas:
                    raise NotEnoughReplicas(
                        f"{partition.topic_partition} has {partition.isr_size} in-sync replica(s), "
                        f"min.insync.replicas asks for {config.min_insync_replicas}"
                    )
                if entry.records is None:
                    raise InvalidRequest(f"no records for {partition.topic_partition}")
                batches = stage_batches(entry.records, config, now_ms, legal_attributes)
                producer = None if transaction is None else producer_of(batches)
            except PeerError as error:
                request.complete(index, ProduceResult(-1, -1, -1, error.without_trace()))
                continue
            except MainstemError as error:
                request.complete(index, ProduceResult(-1, -1, -1, error))
                continue
            waits_for_disk |= config.acks_after == "disk" or config.flush_messages != LONG_MAX
            if producer is not None:
                held.setdefault(producer, []).append(HeldBatches(index, partition, batches))
                continue
            if partition.stage(batches, request, index):
                self._turn.add(partition)
        if transaction is not None and held:
            self._produce_transactional(transaction, held, request)
        if (waits_for_disk or held) and timeout_ms > 0:
            request.deadline_ms = self.clock.monotonic_ms() + timeout_ms
            self._turn.defer(lambda: self._wait_for(request))

    def _produce_transactional(
        self,
        transaction: ProduceTransaction,
        held: dict[tuple[int, int], list[HeldBatches]],
        request: ProduceRequest,
    ) -> None:
        if self._transactional is not None:
            self._transactional.produce(transaction, held, request)
            return
        error = InvalidTransactionState("this broker has no transaction coordinator")
        for each in [each for of_one in held.values() for each in of_one]:
            request.complete(each.place, ProduceResult(-1, -1, -1, error))

    def fetch(
        self,
        entries: Sequence[FetchEntry],
        *,
        min_bytes: int,
        max_bytes: int,
        max_wait_ms: int,
        isolation: int,
        done: FetchDone,
    ) -> FetchRequest:
        """Reads now or when `min_bytes` are there; the ticket's `cancel` gives up without an answer."""
        limits = FetchLimits(min_bytes, max_bytes, max_wait_ms, isolation)
        request = FetchRequest(entries, limits, self._partition_for, self._turn, self.clock, done)
        request.start()
        return request

    def _partition_for(self, entry: FetchEntry) -> Partition:
        partition = self.replicas.partitions.get((entry.topic, entry.partition))
        if entry.topic_id != ZERO_TOPIC_ID:
            self._check_topic_id(entry, partition)
        if partition is None:
            partition = self.replicas.get(entry.topic, entry.partition)
        if entry.leader_epoch != -1:
            partition.check_leader_epoch(entry.leader_epoch)
        return partition

    def _check_topic_id(self, entry: FetchEntry, partition: Partition | None) -> None:
        if partition is not None and partition.topic_id == entry.topic_id:
            return
        if entry.topic_id not in self.image.topics_by_id:
            raise UnknownTopicId(f"no topic has the id of {entry.topic or 'this request'}")
        if partition is not None:
            raise InconsistentTopicId(f"{entry.topic} has another topic id now")

    def _wait_for(self, request: ProduceRequest) -> None:
        """After the turn's writes: those not answered wait for a flush, and not for ever."""
        if request.is_answered:
            return
        self._waiting.add(request)
        if self._sweep is None:
            self._sweep = self.clock.call_later(_EXPIRY_SWEEP_MS, self._expire_waiting)

    def _expire_waiting(self) -> None:
        now_ms = self.clock.monotonic_ms()
        for request in [r for r in self._waiting if r.is_answered or r.deadline_ms <= now_ms]:
            self._waiting.discard(request)
            request.expire()
        self._sweep = self.clock.call_later(_EXPIRY_SWEEP_MS, self._expire_waiting) if self._waiting else None

    # ------------------------------------------------------------------ one partition

    def partition(self, topic: str, index: int) -> Partition:
        return self.replicas.get(topic, index)

    async def offset_for_timestamp(self, partition: Partition, timestamp_ms: int) -> TimestampOffset | None:
        """The first committed record at or after the time."""
        found = await asyncio.to_thread(partition.log.offset_for_timestamp, timestamp_ms)
        return found if found is not None and found.offset < partition.high_watermark else None

    async def offset_of_max_timestamp(self, partition: Partition) -> TimestampOffset | None:
        return await asyncio.to_thread(partition.log.offset_of_max_timestamp)

    async def delete_records(self, deletions: Sequence[RecordDeletion]) -> list[int | MainstemError]:
        """Moves the log start of each partition: where it is now, or the error of that partition."""
        outcomes: list[int | MainstemError] = []
        slices = Slices()
        for topic, index, offset in deletions:
            await slices.pause()
            try:
                outcomes.append(self._delete_records(topic, index, offset))
            except MainstemError as error:
                outcomes.append(error)
        await asyncio.to_thread(self._directories.checkpoint)
        return outcomes

    def _delete_records(self, topic: str, index: int, offset: int) -> int:
        partition = self.replicas.get(topic, index)
        known = self.image.topics.get(topic)
        if known is not None and known.is_internal:
            raise InvalidTopicName(f"{topic} is internal: its records are not for clients to delete")
        return partition.delete_records(partition.high_watermark if offset == HIGH_WATERMARK else offset)

    # ------------------------------------------------------------------ node

    async def allocate_producer_id(self) -> tuple[int, int]:
        """A new producer id and its first epoch."""
        return await self._producer_ids.allocate(), 0

    def log_directories(self) -> Sequence[DirectoryDescription]:
        return self._directories.describe()

    def topic_name(self, topic_id: TopicId) -> str:
        topic = self.image.topics_by_id.get(topic_id)
        if topic is None:
            raise UnknownTopicId("no topic has this id")
        return topic.name

    def leads(self, topic_partition: TopicPartition) -> bool:
        return topic_partition in self.replicas.partitions

    def close(self) -> None:
        if self._transactional is not None:
            self._transactional.close()
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
