"""franz-go, by the program in tests/go/franz."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient
from tests.conformance.conftest import NewName
from tests.support.client_program import ClientProgram, ClientRecord, go_program
from tests.support.confluent import create_topic, produce_all, read_topic


@pytest.fixture(scope="module")
def franz() -> ClientProgram:
    return go_program("franz")


@pytest.mark.parametrize("is_idempotent", [True, False], ids=["idempotent", "plain"])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_writes_and_reads_back(
    bootstrap: str, new_topic: NewName, franz: ClientProgram, codec: str, is_idempotent: bool
) -> None:
    topic = new_topic(2)
    records = [
        ClientRecord(b"k%d" % n, b"value %d " % n * 20, (("h", b"%d" % n),), 1_700_000_000_000 + n, n % 2)
        for n in range(1_000)
    ]
    offsets = franz.write(bootstrap, topic, records, codec, idempotent=is_idempotent)
    assert offsets == [n // 2 for n in range(1_000)]

    by_partition = sorted(records, key=lambda record: record.partition)
    assert franz.read(bootstrap, [topic])[topic] == by_partition
    assert [message.value() for message in read_topic(bootstrap, topic)] == [r.value for r in by_partition]


def test_nulls_and_empty_ones(bootstrap: str, new_topic: NewName, franz: ClientProgram) -> None:
    topic = new_topic()
    records = [
        ClientRecord(None, b"value", (), 5),
        ClientRecord(b"key", None, (), 6),
        ClientRecord(b"", b"", (("empty", b""),), 7),
    ]
    assert franz.write(bootstrap, topic, records) == [0, 1, 2]
    assert franz.read(bootstrap, [topic])[topic] == records


def test_reads_topics_by_a_pattern(
    bootstrap: str, admin: AdminClient, new_name: NewName, franz: ClientProgram
) -> None:
    stem = new_name()
    names = [create_topic(admin, f"{stem}-{suffix}") for suffix in ("a", "b", "other")]
    for name in names:
        produce_all(bootstrap, name, [b"v"] * 3)
    counts = franz.play("pattern", bootstrap, pattern=f"^{stem}-[ab]$", count=6)
    assert counts == {names[0]: 3, names[1]: 3}


def test_looks_offsets_up(bootstrap: str, new_topic: NewName, franz: ClientProgram) -> None:
    topic = new_topic()
    times_ms = (1_000, 9_000, 4_000)
    produce_all(bootstrap, topic, [{"value": b"v", "timestamp": at} for at in times_ms])
    found = franz.play("offsets", bootstrap, topic=topic, times_ms=[1_001, 9_001])
    # A time after the last record means the end to kadm.
    assert found == {"start": 0, "end": 3, "committed": 3, "newest": 1, "1001": 1, "9001": 3}


@pytest.mark.parametrize("balancer", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_a_group_of_two(
    bootstrap: str, new_topic: NewName, new_group: NewName, franz: ClientProgram, balancer: str
) -> None:
    topic = new_topic(4)
    produce_all(bootstrap, topic, [{"value": b"v", "partition": n % 4} for n in range(100)])
    result = franz.play("group", bootstrap, topic=topic, group=new_group(), count=100, balancer=balancer)
    assert sorted([*result["first"], *result["second"]]) == [0, 1, 2, 3]
    assert (result["committed"], result["lost"]) == (100, 0)


def test_admin(bootstrap: str, new_name: NewName, new_group: NewName, franz: ClientProgram) -> None:
    saw = franz.play("admin", bootstrap, topic=new_name(), group=new_group())
    assert saw.pop("looks_like")
    assert saw == {
        "partitions_created": 2,
        "exists_already": True,
        "partitions_now": 3,
        "same_id": True,
        "configs": {"retention.ms": "60000", "segment.ms": "70000"},
        "offsets": {"0": 5},
        "group_state": "Empty",
        "group_gone": True,
        "brokers": 1,
        "log_directory_has_topic": True,
        "topic_gone": True,
    }
