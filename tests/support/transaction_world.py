"""One transaction coordinator over a log in memory, and partitions that take its markers."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Collection, Mapping
from types import SimpleNamespace
from typing import Any, TypeVar

from tests.support.coordinator_world import CoordinatorWorld
from tests.support.simulated_clock import settle

from mainstem.core.transactions.config import TransactionConfig
from mainstem.core.transactions.coordinator import TransactionCoordinator
from mainstem.core.transactions.ports import TransactionMarker
from mainstem.core.transactions.shard import TransactionShard
from mainstem.core.transactions.states import TransactionState
from mainstem.core.transactions.transaction import FIRST_PROTOCOL, SECOND_PROTOCOL, StoredTransaction
from mainstem.core.transactions.transitions import ProducerIdentity
from mainstem.model.ids import TopicPartition

T = TypeVar("T")

TXN = "t"
TIMEOUT_MS = 60_000
A, B = TopicPartition("a", 0), TopicPartition("b", 1)


class Partitions:
    """A `MarkerSink` that outlives the coordinator, as partitions do: what it has, it has for good."""

    def __init__(self) -> None:
        self.markers: dict[TopicPartition, list[TransactionMarker]] = {}
        self.refusals: dict[TopicPartition, Exception] = {}  # of every marker, until they are taken back
        self.lost_answers = 0  # so many writes succeed without the coordinator hearing of it
        self.held: asyncio.Event | None = None
        self.attempts = 0

    async def write(self, marker: TransactionMarker) -> Mapping[TopicPartition, Exception | None]:
        self.attempts += 1
        if self.held is not None:
            await self.held.wait()
        outcomes: dict[TopicPartition, Exception | None] = {}
        for partition in marker.partitions:
            refusal = outcomes[partition] = self.refusals.get(partition)
            if refusal is None:
                self.markers.setdefault(partition, []).append(marker)
        if self.lost_answers:
            self.lost_answers -= 1
            raise ConnectionError("the answer is lost")
        return outcomes

    def ends(self, partition: TopicPartition) -> list[bool]:
        """Commit or abort of each transaction there; repeats of one marker count once."""
        seen = dict.fromkeys(
            (each.producer_id, each.producer_epoch, each.is_commit)
            for each in self.markers.get(partition, ())
        )
        return [is_commit for _, _, is_commit in seen]


class ProducerIdNumbers:
    def __init__(self) -> None:
        self._numbers = itertools.count(1000)

    async def allocate(self) -> int:
        await asyncio.sleep(0)
        return next(self._numbers)


class TransactionWorld(CoordinatorWorld[TransactionCoordinator]):
    def __init__(self, config: TransactionConfig | None = None) -> None:
        super().__init__()
        self.config = config or TransactionConfig()
        self.partitions = Partitions()
        self.producer_ids = ProducerIdNumbers()
        self.topics: dict[str, Any] = {
            "a": SimpleNamespace(partitions=[0] * 4),
            "b": SimpleNamespace(partitions=[0] * 4),
        }

    @property
    def image(self) -> Any:
        return SimpleNamespace(topics=self.topics)

    def make_coordinator(self) -> TransactionCoordinator:
        return TransactionCoordinator(
            self.clock, self.config, self, self.producer_ids, self.partitions, partition_count=1
        )

    # --- looking in

    @property
    def shard(self) -> TransactionShard:
        return self.coordinator._shards.by_partition[0]

    def stored(self, transactional_id: str = TXN) -> StoredTransaction | None:
        return self.shard.transactions.get(transactional_id)

    def state(self, transactional_id: str = TXN) -> TransactionState | None:
        stored = self.stored(transactional_id)
        return None if stored is None else stored.state

    # --- what producers ask

    async def prepared(
        self, transactional_id: str, number: int, *partitions: TopicPartition
    ) -> TestedProducer:
        producer = await self.producer(transactional_id)
        await producer.write(*partitions)
        await producer.prepare(number)
        return producer

    async def producer(
        self, transactional_id: str = TXN, *, protocol: int = SECOND_PROTOCOL
    ) -> TestedProducer:
        made = TestedProducer(self, transactional_id, protocol)
        await made.init()
        return made


class TestedProducer:
    """Remembers what it was told, as a client does."""

    __test__ = False

    def __init__(self, world: TransactionWorld, transactional_id: str, protocol: int) -> None:
        self.world = world
        self.transactional_id = transactional_id
        self.protocol = protocol
        self.me = ProducerIdentity(-1, -1)

    async def init(self, *, expected: bool = False, timeout_ms: int = TIMEOUT_MS) -> ProducerIdentity:
        coordinator = self.world.coordinator
        self.me = await coordinator.init_producer_id(
            self.transactional_id, timeout_ms, self.me if expected else None
        )
        return self.me

    async def write(self, *partitions: TopicPartition) -> None:
        await self.world.coordinator.add_partitions(self.transactional_id, self.me, partitions, self.protocol)

    async def end(self, *, is_commit: bool) -> None:
        self.me = await self.world.coordinator.end(self.transactional_id, self.me, is_commit, self.protocol)

    async def commit(self) -> None:
        await self.end(is_commit=True)

    async def abort(self) -> None:
        await self.end(is_commit=False)

    async def prepare(self, number: int) -> None:
        await self.world.coordinator.prepare(self.transactional_id, self.me, number)

    async def verify(self, partition: TopicPartition, *, add: bool = False) -> Exception | None:
        outcomes = await self.world.coordinator.verify(
            self.transactional_id, self.me.producer_id, self.me.epoch, [partition], add=add
        )
        return outcomes[partition]


async def outcomes(waiting: Collection[asyncio.Task[Any]]) -> list[object]:
    """What became of each by now: its result, the class of its error, or "waits"."""
    await settle()
    found: list[object] = []
    for task in waiting:
        if not task.done():
            found.append("waits")
        else:
            error = task.exception()
            found.append(task.result() if error is None else type(error))
    return found


PROTOCOLS = (FIRST_PROTOCOL, SECOND_PROTOCOL)
