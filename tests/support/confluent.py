"""What tests do over and over with confluent-kafka, the client that we measure the others against."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.support.deadline import PATIENCE_S, eventually

NO_CONFIG: Mapping[str, Any] = MappingProxyType({})

# A member that notices a rebalance at its next heartbeat, five times a second.
QUICK_MEMBER: Mapping[str, Any] = MappingProxyType(
    {
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 200,
        "fetch.wait.max.ms": 100,
        "auto.offset.reset": "earliest",
    }
)


def create_topic(
    admin: AdminClient, topic: str, partitions: int = 1, config: Mapping[str, str] = NO_CONFIG
) -> str:
    """Creates a topic and waits until clients are told of all its partitions' leaders."""
    admin.create_topics([NewTopic(topic, partitions, 1, config=dict(config))])[topic].result(30)

    def has_leaders() -> bool:
        found = admin.list_topics(topic, timeout=10).topics[topic]
        return len(found.partitions) == partitions and all(p.leader >= 0 for p in found.partitions.values())

    eventually(has_leaders, f"leaders of {topic}")
    return topic


def transactional_producer(bootstrap: str, transactional_id: str, **more: Any) -> Producer:
    made = Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "linger.ms": 0, **more}
    )
    made.init_transactions(PATIENCE_S)
    return made


class Reports:
    """Collects delivery reports; every failed delivery is kept too."""

    def __init__(self) -> None:
        self.delivered: list[Message] = []
        self.errors: list[KafkaError] = []

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.delivered.append(message)
        else:
            self.errors.append(error)


def produce_all(
    bootstrap: str,
    topic: str,
    values: Iterable[bytes | str | Mapping[str, Any]],
    config: Mapping[str, Any] = NO_CONFIG,
) -> list[Message]:
    """Produces values, or whole records as keyword arguments of `produce`; gives the delivered messages."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, **config})
    reports = Reports()
    for value in values:
        record = value if isinstance(value, Mapping) else {"value": value}
        producer.produce(topic, on_delivery=reports, **record)
        producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0, "not everything was delivered"
    assert not reports.errors, reports.errors
    return reports.delivered


def read_topic(bootstrap: str, topic: str, config: Mapping[str, Any] = NO_CONFIG) -> list[Message]:
    """Everything that a topic holds now, partition by partition in order of offsets."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reads-without-group",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 100,
            **config,
        }
    )
    try:
        partitions = sorted(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
        return _read_to_ends(consumer, set(partitions))
    finally:
        consumer.close()


def _read_to_ends(consumer: Consumer, unfinished: set[int]) -> list[Message]:
    messages: list[Message] = []
    deadline = time.monotonic() + PATIENCE_S
    while unfinished:
        assert time.monotonic() < deadline, f"no end of partitions {unfinished}"
        for message in consumer.consume(1000, timeout=0.2):
            error = message.error()
            if error is None:
                messages.append(message)
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                unfinished.discard(message.partition())
    return sorted(messages, key=lambda message: (message.partition(), message.offset()))


def poll_members(
    members: Sequence[Consumer],
    is_done: Callable[[], bool],
    what: str,
    on_message: Callable[[Message], object] = lambda _: None,
) -> None:
    """Polls the members of a group in turn, which is what makes them rebalance, until `is_done`."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_done():
        assert time.monotonic() < deadline, f"after {PATIENCE_S} s still not: {what}"
        for member in members:
            message = member.poll(0.02)
            if message is not None:
                assert message.error() is None, message.error()
                on_message(message)
