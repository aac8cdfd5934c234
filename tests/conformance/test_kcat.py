"""kcat: the tool with which people look first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conformance.conftest import NewName
from tests.support.confluent import produce_all, read_topic
from tests.support.kcat import QUICK, kcat, metadata, read_json


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_produces_and_consumes(bootstrap: str, new_topic: NewName, codec: str) -> None:
    topic = new_topic()
    lines = b"".join(b"k%d:value %d\n" % (n, n) for n in range(500))
    kcat(bootstrap, "-P", "-t", topic, "-K:", "-z", codec, "-H", "origin=kcat", "-p", "0", stdin=lines)

    assert kcat(bootstrap, "-C", "-q", "-e", *QUICK, "-t", topic, "-f", "%k:%s\n") == lines
    read = read_json(bootstrap, topic)
    assert [(each["offset"], each["key"], each["payload"]) for each in read] == [
        (n, f"k{n}", f"value {n}") for n in range(500)
    ]
    assert all(each["headers"] == ["origin", "kcat"] for each in read)


def test_metadata(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic(3)
    everything = metadata(bootstrap)
    (broker,) = everything["brokers"]
    assert broker["name"] == bootstrap
    assert everything["controllerid"] == broker["id"]
    (described,) = [each for each in everything["topics"] if each["topic"] == topic]
    alone = [{"id": broker["id"]}]
    assert described["partitions"] == [
        {"partition": n, "leader": broker["id"], "replicas": alone, "isrs": alone} for n in range(3)
    ]
    assert metadata(bootstrap, topic)["topics"] == [described]
    assert f'topic "{topic}" with 3 partitions' in kcat(bootstrap, "-L", "-t", topic).decode()


def test_an_unknown_topic_is_said_to_be_unknown(bootstrap: str, new_name: NewName) -> None:
    (described,) = metadata(bootstrap, new_name(), "-X", "allow.auto.create.topics=false")["topics"]
    assert described["partitions"] == []
    assert "Unknown topic" in described["error"]


def test_asks_for_offsets_by_time(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    produce_all(bootstrap, topic, [{"value": str(n), "timestamp": 1_000 * (n + 1)} for n in range(10)])

    def offset_at(timestamp: int) -> int:
        found = json.loads(kcat(bootstrap, "-Q", "-J", "-t", f"{topic}:0:{timestamp}"))
        return int(found[topic]["0"]["offset"])

    asked = {-2: 0, -1: 10, 0: 0, 3_000: 2, 3_001: 3, 10_001: -1}
    assert {timestamp: offset_at(timestamp) for timestamp in asked} == asked


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("beginning", range(10)),
        ("7", range(7, 10)),
        ("-3", range(7, 10)),
        ("s@5000", range(4, 10)),
    ],
)
def test_starts_where_it_is_told(bootstrap: str, new_topic: NewName, start: str, expected: range) -> None:
    topic = new_topic()
    produce_all(bootstrap, topic, [{"value": str(n), "timestamp": 1_000 * (n + 1)} for n in range(10)])
    read = read_json(bootstrap, topic, "-o", start)
    assert [each["offset"] for each in read] == list(expected)


def test_a_balanced_group_goes_on_where_it_stopped(
    bootstrap: str, new_topic: NewName, new_group: NewName
) -> None:
    topic, group = new_topic(2), new_group()
    produce_all(bootstrap, topic, [{"value": f"old {n}", "partition": n % 2} for n in range(10)])

    def consume(count: int) -> list[str]:
        options = ["-X", "auto.offset.reset=earliest", *QUICK]
        printed = kcat(bootstrap, "-q", *options, "-c", str(count), "-f", "%s\n", "-G", group, topic)
        return sorted(printed.decode().split("\n")[:-1])

    assert consume(10) == [f"old {n}" for n in range(10)]
    produce_all(bootstrap, topic, [b"new"])
    assert consume(1) == ["new"]


def test_a_file_as_one_message(bootstrap: str, new_topic: NewName, tmp_path: Path) -> None:
    topic = new_topic()
    content = bytes(range(256)) * 2_000
    (tmp_path / "message").write_bytes(content)
    kcat(bootstrap, "-P", "-t", topic, "-k", "a key", str(tmp_path / "message"))
    kcat(bootstrap, "-P", "-t", topic, "-K:", "-Z", stdin=b"a key:\n")  # -Z: an empty value is null
    assert [(m.key(), m.value()) for m in read_topic(bootstrap, topic)] == [
        (b"a key", content),
        (b"a key", None),
    ]


def test_reads_what_is_committed(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    produce_all(bootstrap, topic, [b"v"])
    read = read_json(bootstrap, topic, "-X", "isolation.level=read_committed")
    assert [each["payload"] for each in read] == ["v"]
