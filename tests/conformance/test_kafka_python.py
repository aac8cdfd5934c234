"""kafka-python, its 2.x and its 3.x line, by the same scenarios."""

from __future__ import annotations

import pytest
from tests.conformance.conftest import NewName
from tests.support.client_program import ClientProgram, ClientRecord, kafka_python_2, kafka_python_3
from tests.support.confluent import produce_all, read_topic
from tests.support.deadline import eventually


@pytest.fixture(params=["2.3", "3.0"])
def client(request: pytest.FixtureRequest) -> ClientProgram:
    program = kafka_python_2() if request.param == "2.3" else kafka_python_3()
    assert program.play("version", "").startswith(request.param)
    return program


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_writes_and_reads_back(bootstrap: str, new_topic: NewName, client: ClientProgram, codec: str) -> None:
    topic = new_topic(2)
    records = [
        ClientRecord(b"k%d" % n, b"value %d " % n * 20, (("h", b"%d" % n),), 1_700_000_000_000 + n, n % 2)
        for n in range(300)
    ]
    offsets = client.write(bootstrap, topic, records, codec)
    assert offsets == [n // 2 for n in range(300)]

    by_partition = sorted(records, key=lambda record: record.partition)
    assert client.read(bootstrap, [topic])[topic] == by_partition
    assert [message.value() for message in read_topic(bootstrap, topic)] == [r.value for r in by_partition]


def test_null_keys_null_values_and_empty_ones(
    bootstrap: str, new_topic: NewName, client: ClientProgram
) -> None:
    topic = new_topic()
    records = [
        ClientRecord(None, b"value", (), 5),
        ClientRecord(b"key", None, (), 6),
        ClientRecord(b"", b"", (("empty", b""),), 7),
    ]
    assert client.write(bootstrap, topic, records) == [0, 1, 2]
    assert client.read(bootstrap, [topic])[topic] == records


@pytest.mark.parametrize("acks", [1, "all"])
def test_acks(bootstrap: str, new_topic: NewName, client: ClientProgram, acks: int | str) -> None:
    topic = new_topic()
    records = [ClientRecord(None, b"%d" % n, (), n) for n in range(50)]
    assert client.write(bootstrap, topic, records, acks=acks) == list(range(50))
    assert client.read(bootstrap, [topic])[topic] == records


def test_no_acks(bootstrap: str, new_topic: NewName) -> None:
    """Only 3.x: with acks=0 version 2.3.3 keeps its requests to itself, with Apache Kafka too."""
    topic = new_topic()
    records = [ClientRecord(None, b"%d" % n, (), n) for n in range(50)]
    kafka_python_3().write(bootstrap, topic, records, acks=0)
    eventually(lambda: len(read_topic(bootstrap, topic)) == 50, "50 records")


def test_an_idempotent_producer(bootstrap: str, new_topic: NewName, client: ClientProgram) -> None:
    topic = new_topic(3)
    records = [ClientRecord(None, b"%d" % n, (), n, n % 3) for n in range(600)]
    offsets = client.write(bootstrap, topic, records, "gzip", idempotent=True)
    assert offsets == [n // 3 for n in range(600)]


def test_positions(bootstrap: str, new_topic: NewName, client: ClientProgram) -> None:
    topic = new_topic(2)
    records = [{"value": str(n), "timestamp": 1_000 * (n // 2 + 1), "partition": n % 2} for n in range(20)]
    produce_all(bootstrap, topic, records)

    result = client.play("positions", bootstrap, topic=topic, times_ms=[0, 2_500, 10_000, 10_001], seek_to=7)
    assert result == {
        "beginning": [0, 0],
        "end": 10,
        "at": {"0": 0, "2500": 2, "10000": 9, "10001": None},
        "after_seek": 7,
        "while_paused": [1],
        "position": 0,
        "resumed": [0],
    }


def test_a_group_of_two(
    bootstrap: str, new_topic: NewName, new_group: NewName, client: ClientProgram
) -> None:
    topic = new_topic(4)
    produce_all(bootstrap, topic, [{"value": str(n), "partition": n % 4} for n in range(100)])
    result = client.play("group", bootstrap, topic=topic, group=new_group(), count=100)
    assert result["shared"] == [0, 1, 2, 3]
    assert result["seen"] == [[partition, offset] for partition in range(4) for offset in range(25)]
    assert result["committed"] == [25, 25, 25, 25]


def test_transactions(bootstrap: str, new_topic: NewName, client: ClientProgram) -> None:
    result = client.play("transactions", bootstrap, topic=new_topic(2))
    assert result["seen"] == ["0", "0", "2", "2", "4", "4", "newer"]
    assert result["fenced"] in ("ProducerFencedError", "ProducerFenced", "InvalidProducerEpochError")
