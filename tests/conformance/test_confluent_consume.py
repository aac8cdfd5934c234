"""confluent-kafka (librdkafka) reads: positions, look-ups of offsets, sessions over many partitions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from tests.conformance.conftest import NewName
from tests.support.confluent import create_topic, produce_all, read_topic
from tests.support.deadline import eventually

NewConsumer = Callable[..., Consumer]


@pytest.fixture
def new_consumer(bootstrap: str, new_name: NewName) -> Iterator[NewConsumer]:
    """A consumer with a group of its own that commits nothing."""
    consumers: list[Consumer] = []

    def create(**config: object) -> Consumer:
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": new_name("group"),
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 100,
                **{name.replace("_", "."): value for name, value in config.items()},
            }
        )
        consumers.append(consumer)
        return consumer

    yield create
    for consumer in consumers:
        consumer.close()


def consume(consumer: Consumer, count: int) -> list[Message]:
    """The next `count` messages; more must not be there by then."""
    messages: list[Message] = []

    def has_all() -> bool:
        messages.extend(consumer.consume(count - len(messages), timeout=1))
        return len(messages) >= count

    eventually(has_all, f"{count} messages", pause_s=0)
    assert all(message.error() is None for message in messages), [message.error() for message in messages]
    return messages


@pytest.mark.parametrize(
    ("start", "expected_offsets"),
    [(0, range(100)), (42, range(42, 100)), (99, range(99, 100)), (OFFSET_BEGINNING, range(100))],
)
def test_assigned_to_an_offset(
    bootstrap: str, new_topic: NewName, new_consumer: NewConsumer, start: int, expected_offsets: range
) -> None:
    topic = new_topic()
    # One batch: a position in the middle of it is the client's to find, given the batch that has it.
    produce_all(bootstrap, topic, [str(number) for number in range(100)], {"linger.ms": 50})
    consumer = new_consumer()
    consumer.assign([TopicPartition(topic, 0, start)])

    read = consume(consumer, len(expected_offsets))
    assert [(m.offset(), m.value()) for m in read] == [(n, str(n).encode()) for n in expected_offsets]


def test_at_the_end_only_new_messages_are_read(
    bootstrap: str, new_topic: NewName, new_consumer: NewConsumer
) -> None:
    topic = new_topic()
    produce_all(bootstrap, topic, [b"old"] * 5)
    consumer = new_consumer(enable_partition_eof=True)
    consumer.assign([TopicPartition(topic, 0, OFFSET_END)])
    reached = eventually(lambda: consumer.poll(1), "the end of the partition", pause_s=0)
    assert reached.error().code() == KafkaError._PARTITION_EOF
    assert reached.offset() == 5

    produce_all(bootstrap, topic, [b"new"])
    read = consume(consumer, 1)
    assert [(m.offset(), m.value()) for m in read] == [(5, b"new")]


def test_seeks_back_and_forth(bootstrap: str, new_topic: NewName, new_consumer: NewConsumer) -> None:
    topic = new_topic()
    for start in range(0, 300, 50):  # six batches
        produce_all(bootstrap, topic, [str(number) for number in range(start, start + 50)])
    consumer = new_consumer()
    consumer.assign([TopicPartition(topic, 0, 0)])
    consume(consumer, 10)

    for offset in (299, 0, 149, 150, 7, 251):
        consumer.seek(TopicPartition(topic, 0, offset))
        assert consume(consumer, 1)[0].offset() == offset
    assert consumer.position([TopicPartition(topic, 0)])[0].offset == 252


def test_offset_out_of_range_goes_where_the_client_says(
    bootstrap: str, new_topic: NewName, new_consumer: NewConsumer
) -> None:
    topic = new_topic()
    produce_all(bootstrap, topic, [b"first", b"second"])

    consumer = new_consumer(auto_offset_reset="earliest")
    consumer.assign([TopicPartition(topic, 0, 1_000)])
    assert [message.value() for message in consume(consumer, 2)] == [b"first", b"second"]

    consumer = new_consumer(auto_offset_reset="error")
    consumer.assign([TopicPartition(topic, 0, 1_000)])
    message = eventually(lambda: consumer.poll(1), "the error", pause_s=0)
    assert message.error().code() == KafkaError._AUTO_OFFSET_RESET


def test_watermarks_and_offsets_for_times(
    bootstrap: str, new_topic: NewName, new_consumer: NewConsumer
) -> None:
    topic = new_topic(2)
    start_ms = int(time.time() * 1000) - 1_000_000
    for number in range(10):  # a batch each
        record = {"value": b"v", "timestamp": start_ms + 100 * number, "partition": 0}
        produce_all(bootstrap, topic, [record], {"linger.ms": 0})
    consumer = new_consumer()

    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) == (0, 10)
    assert consumer.get_watermark_offsets(TopicPartition(topic, 1), timeout=10) == (0, 0)

    def offset_at(timestamp_ms: int, partition: int = 0) -> int:
        return consumer.offsets_for_times([TopicPartition(topic, partition, timestamp_ms)], timeout=10)[
            0
        ].offset

    assert offset_at(0) == 0
    assert offset_at(start_ms) == 0
    assert offset_at(start_ms + 1) == 1
    assert offset_at(start_ms + 100) == 1
    assert offset_at(start_ms + 450) == 5
    assert offset_at(start_ms + 900) == 9
    assert offset_at(start_ms + 901) == OFFSET_END  # nothing is that new
    assert offset_at(0, partition=1) == OFFSET_END


def test_time_stamps_within_a_batch_are_found(
    bootstrap: str, new_topic: NewName, new_consumer: NewConsumer
) -> None:
    topic = new_topic()
    times_ms = [1_000, 5_000, 2_000, 9_000, 3_000]
    records = [{"value": str(at), "timestamp": at} for at in times_ms]
    produce_all(bootstrap, topic, records, {"linger.ms": 50, "compression.type": "lz4"})
    consumer = new_consumer()

    found = {
        at: consumer.offsets_for_times([TopicPartition(topic, 0, at)], timeout=10)[0].offset
        for at in (0, 1_001, 5_001, 9_000, 9_001)
    }
    assert found == {0: 0, 1_001: 1, 5_001: 3, 9_000: 3, 9_001: OFFSET_END}


def test_watermarks_of_an_unknown_topic_are_an_error(new_consumer: NewConsumer, new_name: NewName) -> None:
    consumer = new_consumer(allow_auto_create_topics=False)
    with pytest.raises(KafkaException) as refused:
        consumer.get_watermark_offsets(TopicPartition(new_name(), 0), timeout=3)
    assert refused.value.args[0].code() in {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError._UNKNOWN_TOPIC,
    }


def test_many_partitions_with_messages_coming_and_going(
    bootstrap: str, new_topic: NewName, new_consumer: NewConsumer
) -> None:
    """librdkafka keeps a fetch session: partitions enter and leave it as they are paused and resumed."""
    partitions = 100
    topic = new_topic(partitions)
    consumer = new_consumer()
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    paused = [TopicPartition(topic, partition) for partition in range(0, partitions, 2)]

    for round_number in range(3):
        value = str(round_number).encode()
        everywhere = [{"value": value, "partition": partition} for partition in range(partitions)]
        produce_all(bootstrap, topic, everywhere)
        consumer.pause(paused)
        odd = consume(consumer, partitions // 2)
        assert sorted(m.partition() for m in odd) == list(range(1, partitions, 2))
        consumer.resume(paused)
        even = consume(consumer, partitions // 2)
        assert sorted(m.partition() for m in even) == list(range(0, partitions, 2))
        assert {m.value() for m in (*odd, *even)} == {value}
        assert {m.offset() for m in (*odd, *even)} == {round_number}


def test_a_waiting_fetch_is_answered_when_a_message_comes(
    bootstrap: str, new_topic: NewName, new_consumer: NewConsumer
) -> None:
    topic = new_topic()
    consumer = new_consumer(fetch_wait_max_ms=5_000)
    consumer.assign([TopicPartition(topic, 0, 0)])
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})

    for value in (b"warm-up", b"first", b"second"):
        began = time.monotonic()
        producer.produce(topic, value=value)
        producer.flush(10)
        assert consume(consumer, 1)[0].value() == value
        if value != b"warm-up":
            assert time.monotonic() - began < 2, "the fetch slept through the message"


@pytest.mark.parametrize(
    "limits",
    [
        {"fetch.max.bytes": 20_000, "message.max.bytes": 20_000},
        {"max.partition.fetch.bytes": 1_000},
        {"fetch.min.bytes": 100_000, "fetch.wait.max.ms": 50},
    ],
    ids=["few-bytes-a-fetch", "few-bytes-a-partition", "many-bytes-at-least"],
)
def test_limits_of_a_fetch_lose_nothing(bootstrap: str, new_topic: NewName, limits: dict[str, int]) -> None:
    topic = new_topic(3)
    values = [b"%06d" % number * 50 for number in range(3_000)]
    produce_all(bootstrap, topic, values, {"batch.num.messages": 10, "linger.ms": 1})
    assert sorted(message.value() for message in read_topic(bootstrap, topic, limits)) == values


def test_reading_while_it_is_written(bootstrap: str, new_topic: NewName, new_consumer: NewConsumer) -> None:
    topic = new_topic(3)
    consumer = new_consumer()
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(3)])
    count = 30_000
    values = [str(number) for number in range(count)]
    writer = threading.Thread(target=produce_all, args=(bootstrap, topic, values))
    writer.start()
    read = consume(consumer, count)
    writer.join()

    assert sorted(int(m.value()) for m in read) == list(range(count))
    for partition in range(3):
        offsets = [m.offset() for m in read if m.partition() == partition]
        assert offsets == list(range(len(offsets)))


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_isolation_levels_see_plain_messages(bootstrap: str, new_topic: NewName, isolation: str) -> None:
    topic = new_topic()
    produce_all(bootstrap, topic, [b"a", b"b"], {"enable.idempotence": True})
    read = read_topic(bootstrap, topic, {"isolation.level": isolation})
    assert [message.value() for message in read] == [b"a", b"b"]


def test_a_pattern_subscribes_to_topics_that_come_later(
    bootstrap: str, admin: AdminClient, new_name: NewName, new_consumer: NewConsumer
) -> None:
    stem = new_name()
    first = create_topic(admin, f"{stem}-first")
    produce_all(bootstrap, first, [b"from the first"])
    consumer = new_consumer(auto_offset_reset="earliest", topic_metadata_refresh_interval_ms=200)
    consumer.subscribe([f"^{stem}-.*"])
    assert consume(consumer, 1)[0].topic() == first

    second = create_topic(admin, f"{stem}-second")
    produce_all(bootstrap, second, [b"from the second"])

    def read_topic_name() -> str | None:
        message = consumer.poll(1)
        return None if message is None else message.topic()

    # The rebalance that brings the second topic also reads the first again: nothing was committed.
    eventually(lambda: read_topic_name() == second, "a message of the second topic", pause_s=0)
