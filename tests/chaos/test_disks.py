"""Disks that are full, fail, go away or are not there: what was acknowledged stays, the rest goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.support import small_disk
from tests.support.broker_process import BrokerProcess
from tests.support.failing_disk import FLUSHES, FailingDisk

STORAGE_ERROR = KafkaError.KAFKA_STORAGE_ERROR


class Writer:
    """Writes one record at a time and tells what became of it."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "retries": 0,
                "linger.ms": 0,
                "message.timeout.ms": 5_000,
                "log_level": 0,
            }
        )

    def write(self, topic: str, partition: int, value: bytes) -> KafkaError | Message:
        outcome: list[KafkaError | Message] = []
        self._producer.produce(
            topic,
            value,
            partition=partition,
            on_delivery=lambda error, message: outcome.append(error or message),
        )
        self._producer.flush(10)
        return outcome[0]


def create(bootstrap: str, topic: str, partitions: int, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for created in admin.create_topics([NewTopic(topic, partitions, 1, config=config)]).values():
        created.result(20)


def read_all(bootstrap: str, topic: str, partition: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False})
    place = TopicPartition(topic, partition, 0)
    end = consumer.get_watermark_offsets(place, 20)[1]
    consumer.assign([place])
    values: list[bytes] = []
    while len(values) < end:
        values += [message.value() for message in consumer.consume(1_000, 1.0)]
    consumer.close()
    return values


def wait_until(is_so: Callable[[], bool], timeout_s: float = 20.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("acks_after", ["page-cache", "disk"])
def test_a_full_disk_refuses_and_recovers(tmp_path: Path, acks_after: str) -> None:
    data = tmp_path / "data"
    options = {"log.level": "warning", "journal.piece.bytes": "1048576", "journal.max.bytes": "4194304"}
    with BrokerProcess(data, options, wrapper=small_disk.wrapper(data, "48m")) as broker:
        create(broker.bootstrap, "small", 2, **{"segment.bytes": "4194304", "acks.after": acks_after})
        filler = small_disk.inside(broker.pid, data) / "filler"
        filler.write_bytes(bytes(16 << 20))
        writer = Writer(broker.bootstrap)
        kept: list[bytes] = []
        for number in range(200):
            value = b"%d " % number + bytes(500_000)
            outcome = writer.write("small", 0, value)
            if isinstance(outcome, KafkaError):
                break
            kept.append(value)
        else:
            pytest.fail("the disk never filled up")
        assert outcome.code() == STORAGE_ERROR
        assert len(kept) > 10
        assert read_all(broker.bootstrap, "small", 0) == kept  # reads go on
        filler.unlink()
        value = b"room again"
        wait_until(lambda: isinstance(writer.write("small", 1, value), Message))
        outcome = writer.write("small", 0, value)
        assert isinstance(outcome, Message)
        kept.append(value)
        assert read_all(broker.bootstrap, "small", 0) == kept
        assert broker.stop() == 0


def two_directories(tmp_path: Path) -> tuple[Path, Path, dict[str, str]]:
    first, second = tmp_path / "disk1", tmp_path / "disk2"
    return first, second, {"log.dirs": f"{first},{second}", "log.level": "warning"}


def partitions_under(folder: Path, topic: str) -> set[int]:
    names = [path.name for path in folder.iterdir() if path.is_dir()]
    return {int(name.rpartition("-")[2]) for name in names if name.rpartition("-")[0] == topic}


def test_a_directory_that_goes_away_takes_its_own_partitions_offline(tmp_path: Path) -> None:
    _, second, options = two_directories(tmp_path)
    wrapper = small_disk.wrapper(second, "64m")
    with BrokerProcess(tmp_path / "data", options, wrapper=wrapper) as broker:
        create(broker.bootstrap, "spread", 4, **{"segment.bytes": "1048576"})
        bad = partitions_under(small_disk.inside(broker.pid, second), "spread")
        assert len(bad) == 2
        large = bytes(600_000)  # the next one begins a segment, in a folder that is not there any more
        writer = Writer(broker.bootstrap)
        for partition in range(4):
            assert isinstance(writer.write("spread", partition, large), Message)
        small_disk.take_away(broker.pid, second)
        for partition in range(4):
            outcome = writer.write("spread", partition, large)
            assert isinstance(outcome, KafkaError) == (partition in bad)
        for partition in set(range(4)) - bad:
            assert read_all(broker.bootstrap, "spread", partition) == [large, large]
        assert "disk2" in broker.log_text()
        create(broker.bootstrap, "later", 3)  # new partitions go where there is a disk
        for partition in range(3):
            assert isinstance(writer.write("later", partition, b"new"), Message)
        assert broker.stop() == 0


@pytest.mark.parametrize("acks_after", ["page-cache", "disk"])
def test_a_directory_whose_disk_fails_takes_its_own_partitions_offline(
    tmp_path: Path, acks_after: str
) -> None:
    _, second, options = two_directories(tmp_path)
    disk = FailingDisk(second, tmp_path / "site")
    with BrokerProcess(tmp_path / "data", options, environ=disk.environ) as broker:
        create(broker.bootstrap, "spread", 4, **{"acks.after": acks_after})
        bad = partitions_under(second, "spread")
        assert len(bad) == 2
        writer = Writer(broker.bootstrap)
        for partition in range(4):
            assert isinstance(writer.write("spread", partition, b"before"), Message)
        disk.fail()
        for partition in range(4):
            outcome = writer.write("spread", partition, b"after")
            assert isinstance(outcome, KafkaError) == (partition in bad)
        for partition in set(range(4)) - bad:
            assert read_all(broker.bootstrap, "spread", partition) == [b"before", b"after"]
        assert f"log directory {second} is offline" in broker.log_text()
        create(broker.bootstrap, "later", 3)  # new partitions go where there is a disk
        for partition in range(3):
            assert isinstance(writer.write("later", partition, b"new"), Message)
        assert broker.stop() == 0

        disk.work()
        broker.start()
        for partition in range(4):
            kept = read_all(broker.bootstrap, "spread", partition)
            assert kept == ([b"before"] if partition in bad else [b"before", b"after"])
        assert broker.stop() == 0


def test_a_flush_that_fails_behind_the_scenes_takes_its_directory_offline(tmp_path: Path) -> None:
    """Nobody waits for this flush; but from it on nobody knows what the disk has."""
    _, second, options = two_directories(tmp_path)
    disk = FailingDisk(second, tmp_path / "site", FLUSHES)
    with BrokerProcess(tmp_path / "data", options, environ=disk.environ) as broker:
        create(broker.bootstrap, "spread", 2, **{"flush.ms": "500"})
        (bad,) = partitions_under(second, "spread")
        writer = Writer(broker.bootstrap)
        disk.fail()
        assert isinstance(writer.write("spread", bad, b"acknowledged from the page cache"), Message)
        wait_until(lambda: f"log directory {second} is offline" in broker.log_text())
        disk.work()
        assert isinstance(writer.write("spread", bad, b"refused"), KafkaError)  # until a restart
        assert isinstance(writer.write("spread", 1 - bad, b"taken"), Message)
        assert broker.stop() == 0


def test_a_directory_that_cannot_be_opened_keeps_its_partitions_offline_and_safe(tmp_path: Path) -> None:
    _, second, options = two_directories(tmp_path)
    broker = BrokerProcess(tmp_path / "data", options).start()
    create(broker.bootstrap, "spread", 4)
    bad = partitions_under(second, "spread")
    writer = Writer(broker.bootstrap)
    for partition in range(4):
        assert isinstance(writer.write("spread", partition, b"%d" % partition), Message)
    assert broker.stop() == 0

    second.rename(tmp_path / "away")
    second.write_bytes(b"not a directory")
    broker.start()
    for partition in set(range(4)) - bad:
        assert read_all(broker.bootstrap, "spread", partition) == [b"%d" % partition]
    for partition in bad:
        with pytest.raises((KafkaException, AssertionError)):
            read_all_quickly(broker.bootstrap, "spread", partition)
    assert broker.stop() == 0

    second.unlink()
    (tmp_path / "away").rename(second)
    broker.start()
    for partition in range(4):
        assert read_all(broker.bootstrap, "spread", partition) == [b"%d" % partition]
    assert broker.stop() == 0


def read_all_quickly(bootstrap: str, topic: str, partition: int) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "log_level": 0})
    try:
        consumer.get_watermark_offsets(TopicPartition(topic, partition), 2)
    finally:
        consumer.close()
