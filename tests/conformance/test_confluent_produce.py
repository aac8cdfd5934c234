"""confluent-kafka (librdkafka) writes: every setting of its producer that the broker can tell apart."""

from __future__ import annotations

import os
import time

import pytest
from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    KafkaError,
    Producer,
)
from tests.conformance.conftest import NewName
from tests.support.confluent import Reports, produce_all, read_topic
from tests.support.deadline import eventually

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("is_idempotent", [False, True], ids=["plain", "idempotent"])
def test_reads_back_what_was_written(
    bootstrap: str, new_topic: NewName, codec: str, is_idempotent: bool
) -> None:
    topic = new_topic(2)
    values = [f"{number} ".encode() * 40 for number in range(2_000)]
    delivered = produce_all(
        bootstrap,
        topic,
        [{"value": value, "partition": number % 2} for number, value in enumerate(values)],
        {"compression.type": codec, "enable.idempotence": is_idempotent, "linger.ms": 20},
    )
    assert len(delivered) == len(values)

    for partition in (0, 1):
        offsets = [message.offset() for message in delivered if message.partition() == partition]
        assert offsets == list(range(1_000))
    read = read_topic(bootstrap, topic)
    assert [(m.partition(), m.offset(), m.value()) for m in read] == [
        (partition, offset, values[offset * 2 + partition]) for partition in (0, 1) for offset in range(1_000)
    ]


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_keeps_keys_headers_and_timestamps(bootstrap: str, new_topic: NewName, codec: str) -> None:
    topic = new_topic()
    now_ms = int(time.time() * 1000)
    records = [
        {
            "key": b"key",
            "value": b"value",
            "headers": [("h", b"1"), ("h", b"2")],
            "timestamp": now_ms - 60_000,
        },
        {"key": b"", "value": b"", "headers": [("empty", b""), ("null", None)], "timestamp": now_ms},
        {"key": None, "value": None, "headers": [("bytes", bytes(range(256)))], "timestamp": now_ms - 1},
        {"key": "ключ", "value": "значение 🙂", "headers": [("имя", "ü".encode())], "timestamp": 1},
    ]
    produce_all(bootstrap, topic, records, {"compression.type": codec})

    read = read_topic(bootstrap, topic)
    assert [(m.key(), m.value(), m.headers(), m.timestamp()) for m in read] == [
        (b"key", b"value", [("h", b"1"), ("h", b"2")], (TIMESTAMP_CREATE_TIME, now_ms - 60_000)),
        (b"", b"", [("empty", b""), ("null", None)], (TIMESTAMP_CREATE_TIME, now_ms)),
        (None, None, [("bytes", bytes(range(256)))], (TIMESTAMP_CREATE_TIME, now_ms - 1)),
        ("ключ".encode(), "значение 🙂".encode(), [("имя", "ü".encode())], (TIMESTAMP_CREATE_TIME, 1)),
    ]


def test_log_append_time_replaces_the_producers(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic(1, {"message.timestamp.type": "LogAppendTime"})
    before_ms = int(time.time() * 1000)
    delivered = produce_all(bootstrap, topic, [{"value": b"v", "timestamp": 1}] * 3)

    read = read_topic(bootstrap, topic)
    assert len(read) == 3
    for message in (*delivered, *read):
        kind, timestamp_ms = message.timestamp()
        assert kind == TIMESTAMP_LOG_APPEND_TIME
        assert before_ms <= timestamp_ms <= int(time.time() * 1000)


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(bootstrap: str, new_topic: NewName, acks: str) -> None:
    topic = new_topic()
    delivered = produce_all(bootstrap, topic, [b"v%d" % number for number in range(300)], {"acks": acks})
    # Without an acknowledgement nobody tells the producer where its messages went.
    if acks != "0":
        assert [message.offset() for message in delivered] == list(range(300))
    eventually(
        lambda: len(read_topic(bootstrap, topic)) == 300, "300 messages; with acks=0 some are on their way"
    )
    assert [message.value() for message in read_topic(bootstrap, topic)] == [b"v%d" % n for n in range(300)]


def test_one_request_per_message(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": "all"})
    for number in range(50):
        reports = Reports()
        producer.produce(topic, value=str(number), on_delivery=reports)
        assert producer.flush(10) == 0
        assert [message.offset() for message in reports.delivered] == [number]


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_a_large_message(bootstrap: str, new_topic: NewName, codec: str) -> None:
    topic = new_topic(1, {"max.message.bytes": "12000000"})
    large = os.urandom(10_000_000)
    limits = {"message.max.bytes": 12_000_000, "compression.type": codec}
    produce_all(bootstrap, topic, [b"before", large, b"after"], limits)

    # A fetch asks for 1 MB of a partition, and the first batch comes whole however large it is.
    assert [message.value() for message in read_topic(bootstrap, topic)] == [b"before", large, b"after"]


def test_a_too_large_message_is_refused_and_the_next_is_not(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic(1, {"max.message.bytes": "1000"})
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    reports = Reports()
    for value in (b"small", os.urandom(2_000), b"small again"):
        producer.produce(topic, value=value, on_delivery=reports)
        assert producer.flush(10) == 0

    assert [error.code() for error in reports.errors] == [KafkaError.MSG_SIZE_TOO_LARGE]
    assert [message.offset() for message in reports.delivered] == [0, 1]
    assert [message.value() for message in read_topic(bootstrap, topic)] == [b"small", b"small again"]


def test_a_key_always_goes_to_the_same_partition(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic(5)
    keys = [f"key-{number % 20}" for number in range(400)]
    produce_all(
        bootstrap, topic, [{"key": key, "value": key} for key in keys], {"partitioner": "murmur2_random"}
    )

    partitions_of_key: dict[bytes | None, set[int]] = {}
    for message in read_topic(bootstrap, topic):
        partitions_of_key.setdefault(message.key(), set()).add(message.partition())
    assert len(partitions_of_key) == 20
    assert all(len(partitions) == 1 for partitions in partitions_of_key.values())


def test_an_idempotent_producer_of_many_partitions(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic(20)
    records = [{"value": str(number), "partition": number % 20} for number in range(5_000)]
    settings = {"enable.idempotence": True, "batch.num.messages": 7, "linger.ms": 1}
    delivered = produce_all(bootstrap, topic, records, settings)

    assert len(delivered) == 5_000
    read = read_topic(bootstrap, topic)
    assert [(m.partition(), m.value()) for m in read] == [
        (partition, str(number).encode()) for partition in range(20) for number in range(partition, 5_000, 20)
    ]


def test_a_compacted_topic_refuses_a_record_without_key(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic(1, {"cleanup.policy": "compact"})
    producer = Producer({"bootstrap.servers": bootstrap})
    reports = Reports()
    producer.produce(topic, value=b"no key", on_delivery=reports)
    assert producer.flush(10) == 0
    producer.produce(topic, key=b"key", value=b"value", on_delivery=reports)
    assert producer.flush(10) == 0

    assert [error.code() for error in reports.errors] == [KafkaError.INVALID_RECORD]
    assert [message.key() for message in reports.delivered] == [b"key"]


@pytest.mark.parametrize("topic_codec", ["gzip", "snappy", "lz4", "zstd", "uncompressed"])
@pytest.mark.parametrize("producer_codec", ["none", "zstd"])
def test_the_topics_codec_wins(
    bootstrap: str, new_topic: NewName, topic_codec: str, producer_codec: str
) -> None:
    topic = new_topic(1, {"compression.type": topic_codec})
    values = [b"%d " % number * 30 for number in range(200)]
    produce_all(bootstrap, topic, values, {"compression.type": producer_codec})
    assert [message.value() for message in read_topic(bootstrap, topic)] == values
