"""Compacted topics as a client sees them: the newest record of each key, at the offset that it always had."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from tests.conformance.conftest import StartBroker
from tests.support.broker_process import BrokerProcess
from tests.support.confluent import create_topic, produce_all, read_topic
from tests.support.deadline import eventually
from tests.support.http import metrics

# Everything is closed and looked at soon after it was written.
EAGER: Mapping[str, str] = {
    "log.cleaner.backoff.ms": "50",
    "log.retention.check.interval.ms": "100",
    "log.segment.delete.delay.ms": "100",
}
COMPACTED: Mapping[str, str] = {
    "cleanup.policy": "compact",
    "segment.bytes": "1048576",
    "segment.ms": "300",
    "min.cleanable.dirty.ratio": "0",
}
Newest = dict[bytes, tuple[int, bytes | None]]


def records(count: int, keys: int, seed: int, *, tombstones: bool = True) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    made: list[dict[str, Any]] = []
    for number in range(count):
        value = b"%d " % number + chance.randbytes(40) * 4
        is_tombstone = tombstones and chance.random() < 0.05
        made.append(
            {
                "key": b"key %d" % chance.randrange(keys),
                "value": None if is_tombstone else value,
                "headers": {"number": b"%d" % number},
            }
        )
    return made


def newest_of(messages: Sequence[Message], before: Newest | None = None) -> Newest:
    newest = dict(before or {})
    for message in sorted(messages, key=lambda message: message.offset() or 0):
        key, offset = message.key(), message.offset()
        assert isinstance(key, bytes)
        assert offset is not None
        newest[key] = (offset, message.value())
    return newest


def read_newest(bootstrap: str, topic: str) -> tuple[int, Newest]:
    """How many records there are, and the newest of each key."""
    found = read_topic(bootstrap, topic)
    offsets = [message.offset() for message in found]
    assert offsets == sorted(set(offsets))
    return len(found), newest_of(found)


def wait_until_compacted(bootstrap: str, topic: str, expected: Newest) -> None:
    def is_compacted() -> bool:
        count, newest = read_newest(bootstrap, topic)
        assert newest == expected  # at every moment
        return count == len(expected)

    eventually(is_compacted, f"{topic} holds one record for each of {len(expected)} keys", pause_s=0.2)


def test_a_consumer_sees_the_newest_record_of_each_key(start_broker: StartBroker) -> None:
    broker = start_broker(EAGER)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    expected: dict[str, Newest] = {}
    for number, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        topic = create_topic(admin, f"compacted-{codec}", config=COMPACTED)
        settings = {"compression.type": codec, "enable.idempotence": codec == "lz4"}
        sent = produce_all(broker.bootstrap, topic, records(4_000, 300, number), settings)
        expected[topic] = newest_of(sent)
    for topic, newest in expected.items():
        wait_until_compacted(broker.bootstrap, topic, newest)
    figures = metrics(broker.admin_url)
    assert figures["mainstem_compaction_runs_total"] >= 5
    assert (
        figures["mainstem_compaction_read_bytes_total"]
        > figures["mainstem_compaction_written_bytes_total"]
        > 0
    )
    assert figures["mainstem_compaction_uncleanable_partitions"] == 0
    assert figures["mainstem_compaction_failures_total"] == 0

    # A tombstone goes when its time is over, and the key with it, at the next cleaning.
    topic = create_topic(admin, "forgets", config={**COMPACTED, "delete.retention.ms": "0"})
    kept = newest_of(produce_all(broker.bootstrap, topic, records(3_000, 200, 9)))
    tombstones = [key for key, (_, value) in kept.items() if value is None]
    assert tombstones
    for key in tombstones:
        del kept[key]

    def has_no_tombstone() -> bool:
        sent = produce_all(broker.bootstrap, topic, [{"key": b"again", "value": b"x"}])
        kept.update(newest_of(sent))
        return read_newest(broker.bootstrap, topic)[1] == kept

    eventually(has_no_tombstone, "no tombstone is left", pause_s=0.3)
    wait_until_compacted(broker.bootstrap, topic, kept)
    # What is gone leaves holes; a consumer that stood in one goes on behind it.
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "holes"})
    for offset in (0, 1, 777, 2_500):
        consumer.assign([TopicPartition(topic, 0, offset)])
        message = eventually(lambda: consumer.poll(0.5), "a record behind the hole", pause_s=0)
        assert message.error() is None
        assert message.offset() == min(kept_at for kept_at, _ in kept.values() if kept_at >= offset)
    consumer.close()
    assert broker.stop() == 0
    broker.start()
    for topic in ("compacted-gzip", "compacted-lz4"):
        assert read_newest(broker.bootstrap, topic)[1] == expected[topic]


def alter(admin: AdminClient, topic: str, config: Mapping[str, str]) -> None:
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in config.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(30)


def test_a_record_without_a_key_is_refused_by_compacted_topics_only(
    bootstrap: str, admin: AdminClient
) -> None:
    create_topic(admin, "needs-keys", config={"cleanup.policy": "compact,delete"})
    create_topic(admin, "needs-none")
    for settings in ({}, {"compression.type": "zstd"}):
        producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, **settings})
        seen: list[tuple[bytes | None, int | None]] = []

        def report(error: KafkaError | None, message: Message) -> None:
            seen.append((message.value(), None if error is None else error.code()))  # noqa: B023

        producer.produce("needs-keys", b"no key", on_delivery=report)
        assert producer.flush(30) == 0
        producer.produce("needs-keys", b"with key", key=b"", on_delivery=report)
        producer.produce("needs-none", b"free", on_delivery=report)
        assert producer.flush(30) == 0
        assert sorted(seen, key=str) == [
            (b"free", None),
            (b"no key", KafkaError.INVALID_RECORD),
            (b"with key", None),
        ]
    assert {message.value() for message in read_topic(bootstrap, "needs-keys")} == {b"with key"}


def test_a_kill_in_the_middle_of_a_cleaning_loses_nothing(start_broker: StartBroker) -> None:
    """Slow enough that each kill finds a cleaning at work; then fast, to the end."""
    slow = {**EAGER, "log.cleaner.io.max.bytes.per.second": "1500000", "log.cleaner.io.buffer.size": "65536"}
    broker = start_broker(slow)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    topic = create_topic(admin, "killed", config={**COMPACTED, "segment.ms": "60000"})
    newest: Newest = {}
    folder = broker.data_dir / "logs" / "killed-0"
    for seed in range(3):
        settings = {"compression.type": "none", "batch.size": 20_000}
        made = records(9_000, 800, seed)
        newest = newest_of(produce_all(broker.bootstrap, topic, made, settings), newest)
        eventually(lambda: is_being_compacted(folder), "a cleaning is under way", pause_s=0.001)
        broker.kill()
        broker.start()
        assert read_newest(broker.bootstrap, topic)[1] == newest
        assert not leftovers(folder) or is_being_compacted(folder)
    assert broker.stop() == 0
    assert not leftovers(folder)
    fast = BrokerProcess(broker.data_dir, {**broker.options, "log.cleaner.io.max.bytes.per.second": "1e9"})
    with fast:
        alter(AdminClient({"bootstrap.servers": fast.bootstrap}), topic, {"segment.ms": "300"})
        wait_until_compacted(fast.bootstrap, topic, newest)
        assert "ERROR" not in fast.log_text()


def is_being_compacted(folder: Path) -> bool:
    return any(name.name.endswith((".cleaned", ".swap")) for name in folder.iterdir())


def leftovers(folder: Path) -> list[str]:
    ends = (".cleaned", ".swap")
    return [
        path.name for path in folder.iterdir() if path.name.endswith(ends) or path.name == "mainstem-swap"
    ]


def test_group_offsets_are_compacted_and_come_back(start_broker: StartBroker) -> None:
    broker = start_broker(
        {**EAGER, "offsets.topic.num.partitions": "1", "offsets.topic.segment.bytes": "1048576"}
    )
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    create_topic(admin, "read")
    consumers = [
        Consumer({"bootstrap.servers": broker.bootstrap, "group.id": f"group-{number}"})
        for number in range(4)
    ]
    metadata = "m" * 3_500
    folder = broker.data_dir / "logs" / "__consumer_offsets-0"
    for offset in range(1, 161):
        for consumer in consumers:
            at = TopicPartition("read", 0, offset, metadata)
            consumer.commit(offsets=[at], asynchronous=False)

    def is_compacted() -> bool:
        return sum(path.stat().st_size for path in folder.glob("*.log")) < 1_400_000

    eventually(is_compacted, "the closed segments of __consumer_offsets are compacted", pause_s=0.1)
    broker.kill()
    broker.start()
    for consumer in consumers:

        def committed(consumer: Consumer = consumer) -> int | None:
            try:
                return consumer.committed([TopicPartition("read", 0)], timeout=10)[0].offset
            except KafkaException:
                return None  # loading

        assert eventually(committed, "the committed offset") == 160
        consumer.close()


def test_of_transactions_the_committed_ones_stay_and_the_aborted_ones_go(start_broker: StartBroker) -> None:
    broker = start_broker(EAGER)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    topic = create_topic(admin, "transactions", config={**COMPACTED, "delete.retention.ms": "0"})
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "t", "linger.ms": 1})
    producer.init_transactions(30)
    expected: dict[bytes, bytes] = {}
    for number in range(60):
        chance = random.Random(number)
        written = {b"key %d" % chance.randrange(40): b"%d" % number + bytes(300) for _ in range(30)}
        producer.begin_transaction()
        for key, value in written.items():
            producer.produce(topic, value, key)
        if number % 3:
            producer.commit_transaction(30)
            expected |= written
        else:
            producer.flush(30)
            producer.abort_transaction(30)

    def values(isolation: str) -> list[tuple[bytes | str | None, bytes | str | None]]:
        found = read_topic(broker.bootstrap, topic, {"isolation.level": isolation})
        return [(message.key(), message.value()) for message in found]

    def is_compacted() -> bool:
        assert dict(values("read_committed")) == expected
        return sorted(values("read_uncommitted")) == sorted(expected.items())

    eventually(is_compacted, "only the newest committed values are left", pause_s=0.3)
    broker.kill()
    broker.start()
    assert is_compacted()
    # The producer goes on where it was: its last sequence is still known.
    producer.begin_transaction()
    producer.produce(topic, b"afterwards", b"key 0")
    producer.commit_transaction(30)
    expected[b"key 0"] = b"afterwards"
    assert dict(values("read_committed")) == expected
