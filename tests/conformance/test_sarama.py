"""sarama, by the program in tests/go/sarama."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.conformance.conftest import NewName
from tests.support.client_program import ClientProgram, ClientRecord, go_program
from tests.support.confluent import produce_all, read_topic


@pytest.fixture(scope="module")
def sarama() -> ClientProgram:
    return go_program("sarama")


@pytest.mark.parametrize("is_idempotent", [True, False], ids=["idempotent", "plain"])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_writes_and_reads_back(
    bootstrap: str, new_topic: NewName, sarama: ClientProgram, codec: str, is_idempotent: bool
) -> None:
    topic = new_topic(2)
    records = [
        ClientRecord(b"k%d" % n, b"value %d " % n * 20, (("h", b"%d" % n),), 1_700_000_000_000 + n, n % 2)
        for n in range(1_000)
    ]
    offsets = sarama.write(bootstrap, topic, records, codec, idempotent=is_idempotent)
    assert offsets == [n // 2 for n in range(1_000)]

    by_partition = sorted(records, key=lambda record: record.partition)
    assert sarama.read(bootstrap, [topic])[topic] == by_partition
    assert [message.value() for message in read_topic(bootstrap, topic)] == [r.value for r in by_partition]


def test_looks_offsets_up(bootstrap: str, new_topic: NewName, sarama: ClientProgram) -> None:
    topic = new_topic()
    times_ms = (1_000, 9_000, 4_000)
    produce_all(bootstrap, topic, [{"value": b"v", "timestamp": at} for at in times_ms])
    found = sarama.play("offsets", bootstrap, topic=topic, times_ms=[1_001, 9_001])
    assert found == {"start": 0, "end": 3, "1001": 1, "9001": -1}


@pytest.mark.parametrize("balancer", ["range", "roundrobin", "sticky"])
def test_a_group_of_two(
    bootstrap: str, new_topic: NewName, new_group: NewName, sarama: ClientProgram, balancer: str
) -> None:
    topic = new_topic(4)
    produce_all(bootstrap, topic, [{"value": b"v", "partition": n % 4} for n in range(100)])
    result = sarama.play("group", bootstrap, topic=topic, group=new_group(), count=100, balancer=balancer)
    assert sorted([*result["first"], *result["second"]]) == [0, 1, 2, 3]
    assert result["committed"] == 100


def test_admin(
    bootstrap: str, new_topic: NewName, new_name: NewName, new_group: NewName, sarama: ClientProgram
) -> None:
    group, elsewhere = new_group(), new_topic()
    committer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    committer.commit(offsets=[TopicPartition(elsewhere, 0, 0)], asynchronous=False)
    committer.close()

    saw = sarama.play("admin", bootstrap, topic=new_name(), group=group)
    assert saw == {
        "exists_already": True,
        "partitions": 3,
        "configs": {"retention.ms": "60000", "segment.ms": "70000"},
        "nothing_to_delete": True,
        "group_listed": True,
        "group_state": "Empty",
        "group_gone": True,
        "brokers": 1,
        "has_controller": True,
        "log_directories": 1,
        "topic_gone": True,
    }
