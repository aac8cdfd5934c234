"""The broker as the hot APIs see it: takes calls, answers when the test says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.support.simulated_clock import SimulatedClock
from tests.unit.heads.kafka.conversation import Conversation

from mainstem.config.broker import BrokerConfig
from mainstem.core.broker import ProduceEntry
from mainstem.core.fetch_request import FetchDone, FetchEntry
from mainstem.core.identity.authorizer import Authorizer
from mainstem.core.image import BrokerImage, ClusterImage, Endpoint, PartitionImage, TopicImage
from mainstem.core.produce_request import ProduceDone
from mainstem.core.quotas.clients import ClientQuotas
from mainstem.core.transactions.produce import ProduceTransaction
from mainstem.heads.kafka.dispatch import KafkaHead
from mainstem.model.ids import TopicId, TopicPartition

TOPIC_ID = TopicId(b"orders' topic id")


def image_of(topics: Mapping[str, TopicId]) -> ClusterImage:
    partitions = (PartitionImage((1, 2), (1,), 1, 5), PartitionImage((2,), (2,), 2, 6))
    images = {name: TopicImage(name, topic_id, partitions) for name, topic_id in topics.items()}
    brokers = {
        1: BrokerImage(1, "internal-1", 1, "rack-a", endpoints=(Endpoint("kafka", "one.test", 9092),)),
        2: BrokerImage(2, "two.test", 9093),
    }
    by_id = {topic.topic_id: topic for topic in images.values()}
    return ClusterImage("cluster", 1, 1, brokers, images, by_id)


class Produced(NamedTuple):
    entries: Sequence[ProduceEntry]
    acks: int
    timeout_ms: int
    done: ProduceDone
    transaction: ProduceTransaction | None = None


class Fetched(NamedTuple):
    entries: Sequence[FetchEntry]
    min_bytes: int
    max_bytes: int
    max_wait_ms: int
    isolation: int
    done: FetchDone
    ticket: Ticket


class Ticket:
    is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class RecordingBroker:
    def __init__(self, config: BrokerConfig | None = None) -> None:
        self.config = config or BrokerConfig.default()
        self.clock = SimulatedClock()
        self.quotas = ClientQuotas.of(self.config, self.clock.monotonic_ms)
        self.authorizer: Authorizer | None = None
        self.image = image_of({"orders": TOPIC_ID})
        self.produced: list[Produced] = []
        self.fetched: list[Fetched] = []
        self.serves_transactions = True

    def leads(self, topic_partition: TopicPartition) -> bool:
        return topic_partition.topic in self.image.topics

    def produce(
        self,
        entries: Sequence[ProduceEntry],
        *,
        acks: int,
        timeout_ms: int,
        done: ProduceDone,
        transaction: ProduceTransaction | None = None,
    ) -> None:
        self.produced.append(Produced(entries, acks, timeout_ms, done, transaction))

    def fetch(
        self,
        entries: Sequence[FetchEntry],
        *,
        min_bytes: int,
        max_bytes: int,
        max_wait_ms: int,
        isolation: int,
        done: FetchDone,
    ) -> Ticket:
        ticket = Ticket()
        self.fetched.append(Fetched(entries, min_bytes, max_bytes, max_wait_ms, isolation, done, ticket))
        return ticket


def converse(broker: RecordingBroker) -> Conversation:
    return Conversation(KafkaHead(broker))  # type: ignore[arg-type]
