"""One node's cluster room over a store in memory: what the tests of its parts share."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from tests.support.memory_store import MemoryStore
from tests.support.simulated_clock import SimulatedClock, settle

from mainstem.cluster.config_changes import ConfigRules
from mainstem.cluster.controller import Controller
from mainstem.cluster.follower import MetadataFollower
from mainstem.cluster.membership import Membership, Registration, ensure_cluster_id
from mainstem.cluster.store import MetadataStore
from mainstem.config.broker import BrokerConfig
from mainstem.config.source import Layer, Source
from mainstem.core.image import BrokerImage, ClusterImage, MetadataDelta, PartitionImage, TopicImage
from mainstem.model.ids import TopicId


def broker_config(options: Mapping[str, str] | None = None) -> BrokerConfig:
    return BrokerConfig.from_layers([Layer(Source.STATIC_BROKER, dict(options or {}), "the test")])


def brokers(*node_ids: int, racks: Mapping[int, str] | None = None) -> dict[int, BrokerImage]:
    return {n: BrokerImage(n, "127.0.0.1", 9000 + n, (racks or {}).get(n)) for n in node_ids}


def image_of(*topics: TopicImage, nodes: Mapping[int, BrokerImage] | None = None) -> ClusterImage:
    return ClusterImage(
        cluster_id="test",
        revision=1,
        controller_id=1,
        brokers=brokers(1) if nodes is None else nodes,
        topics={topic.name: topic for topic in topics},
        topics_by_id={topic.topic_id: topic for topic in topics},
    )


def topic_of(name: str, count: int = 1, replicas: tuple[int, ...] = (1,), **more: object) -> TopicImage:
    partition = PartitionImage(replicas, replicas, replicas[0], 0)
    topic_id = TopicId(name.encode().ljust(16, b"."))
    return TopicImage(name, topic_id, (partition,) * count, **more)  # type: ignore[arg-type]


_numbers = itertools.count(1)


def numbered_bytes(count: int) -> bytes:
    """Chance without chance: each call gives others."""
    return next(_numbers).to_bytes(count, "big")


class Node:
    """Made by `started`; more nodes of one cluster share a store."""

    def __init__(
        self,
        node_id: int = 1,
        *,
        store: MetadataStore | None = None,
        clock: SimulatedClock | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.node_id = node_id
        self.clock = clock or SimulatedClock()
        self.store: MetadataStore = store or MemoryStore(self.clock)
        self.config = broker_config(options)
        self.follower = MetadataFollower(self.store)
        self.membership = Membership(self.store, self.clock, random_bytes=numbered_bytes)
        self.deltas: list[MetadataDelta] = []
        self.follower.subscribe(self.membership.on_image)
        self.follower.subscribe(lambda _, delta: self.deltas.append(delta))
        self.controller = Controller(
            self.store,
            self.follower,
            self.membership,
            ConfigRules(self.config),
            lambda: self.config,
            random_bytes=numbered_bytes,
        )

    @property
    def image(self) -> ClusterImage:
        return self.follower.image

    @property
    def memory(self) -> MemoryStore:
        assert isinstance(self.store, MemoryStore)
        return self.store

    async def start(self) -> Node:
        await ensure_cluster_id(self.store, random_bytes=numbered_bytes)
        await self.follower.start()
        epoch = await self.membership.join(Registration(self.node_id, "127.0.0.1", 9000 + self.node_id))
        await self.follower.wait_for(epoch)
        await settle()
        return self

    async def stop(self) -> None:
        await self.membership.leave()
        await self.follower.close()
