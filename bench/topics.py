"""Topics for scenarios: made, filled, counted, deleted, through our own client, on either side."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.clients import raw_producer
from bench.load import run_load
from bench.memory import touch
from bench.sides import Broker
from mainstem.client.addresses import parse_addresses
from mainstem.client.cluster import ClusterClient, TopicView
from mainstem.client.offsets import LATEST, offsets_at, partitions_of
from mainstem.client.topics import create_topic, delete_topics
from mainstem.model.errors import BrokerError, PeerError
from mainstem.model.ids import TopicPartition

FILL_BATCH_BYTES = 64 * 1024
FILL_SECONDS = 0.5
FEW_BYTES = 250_000_000
SERVED_TIMEOUT_S = 120.0
DELETED_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    topic_id: bytes
    partition_count: int

    @property
    def partitions(self) -> list[int]:
        return list(range(self.partition_count))


@dataclass(frozen=True, slots=True)
class Stored:
    """A topic with data to read."""

    topic: Topic
    messages: int
    least_end_offset: int  # of the shortest partition


class Shortfall(Exception):
    """The log does not hold what a producer claims to have written."""


def cluster(broker: Broker) -> ClusterClient:
    return ClusterClient(parse_addresses(broker.bootstrap), client_id="bench", timeout_s=180)


def make_topic(broker: Broker, partition_count: int, config: Mapping[str, str] | None = None) -> Topic:
    """A topic under a name of its own, with a leader for every partition."""
    name = f"bench-{uuid.uuid4().hex[:8]}"
    with cluster(broker) as link:
        made = create_topic(link, name, partition_count=partition_count, replication_factor=1, config=config)
    wait_until_served(broker, {name: partition_count})
    return Topic(name, bytes(made.topic_id), partition_count)


def wait_until_served(broker: Broker, topics: Mapping[str, int], timeout_s: float = SERVED_TIMEOUT_S) -> None:
    """Until the broker answers and every partition of these topics has a leader."""
    deadline = time.monotonic() + timeout_s
    while True:
        with contextlib.suppress(BrokerError, PeerError), cluster(broker) as link:
            found = link.refresh(topics)
            if link.nodes and all(_is_served(found.get(name), count) for name, count in topics.items()):
                return
        if time.monotonic() > deadline:
            raise TimeoutError(f"{', '.join(topics)} not served after {timeout_s:.0f} s")
        time.sleep(0.005)


def _is_served(view: object, partition_count: int) -> bool:
    if not isinstance(view, TopicView) or len(view.partitions) != partition_count:
        return False
    return all(partition.leader >= 0 for partition in view.partitions)


@contextlib.contextmanager
def passing_topic(broker: Broker, partition_count: int, *, bytes_to_come: int = FEW_BYTES) -> Iterator[Topic]:
    """For one measurement: deleted afterwards, and so are its files before the next one begins."""
    topic = make_topic(broker, partition_count)
    try:
        touch(bytes_to_come)
        yield topic
    finally:
        drop(broker, [topic.name])


def drop(broker: Broker, names: Sequence[str]) -> None:
    with cluster(broker) as link:
        delete_topics(link, names)
    time.sleep(1.5)  # log.segment.delete.delay.ms and the unlinking


def end_offsets(broker: Broker, topic: str) -> dict[TopicPartition, int]:
    with cluster(broker) as link:
        return offsets_at(link, dict.fromkeys(partitions_of(link, topic), LATEST))


def prove(broker: Broker, topics: Sequence[Topic], messages: int) -> None:
    """The topics must hold at least what was acknowledged."""
    held = sum(sum(end_offsets(broker, topic.name).values()) for topic in topics)
    if held < messages:
        raise Shortfall(f"{messages} messages were acknowledged but only {held} are there")


def fill(broker: Broker, topic: Topic, record_bytes: int, least_bytes: int) -> Stored:
    """Writes ready-made batches to every partition, equally many to each."""
    job = raw_producer.RawProducerJob(
        bootstrap=broker.bootstrap,
        requests=[{topic.name: topic.partitions}],
        record_bytes=record_bytes,
        batch_bytes=FILL_BATCH_BYTES,
        seconds=FILL_SECONDS,
    )
    written = messages = 0
    while written < least_bytes:
        outcome = run_load(broker.pid, [(raw_producer, job)])
        written, messages = written + outcome.payload_bytes, messages + outcome.messages
    prove(broker, [topic], messages)
    ends = end_offsets(broker, topic.name).values()
    return Stored(topic, sum(ends), min(ends))
