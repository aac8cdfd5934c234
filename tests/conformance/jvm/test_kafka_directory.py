"""A data directory that a real Kafka broker wrote: taken over, read, appended to, and still Kafka's in form.

Kafka writes what it can: every codec, idempotent and transactional producers, several segments, a compacted
topic, group offsets, deleted records, options, quotas and access rules. It is stopped, `mainstem log import`
takes its directory over, Mainstem serves it; and at the end Kafka itself opens the directory again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType
from tests.support.broker_process import BrokerProcess
from tests.support.confluent import produce_all, read_topic
from tests.support.http import request
from tests.support.kafka_tools import KafkaTools
from tests.support.mainstem_command import MainstemCommand
from tests.support.real_kafka import CLUSTER_ID, RealKafka

from mainstem.client.addresses import parse_addresses
from mainstem.client.cluster import ClusterClient
from mainstem.wire.kafka.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

pytestmark = pytest.mark.xdist_group("kafka-tools")

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
COUNT = 300
GROUP = "readers"
COMPLAINT = re.compile(r"mismatch|corrupt|exception|out of order|isvalid: false", re.IGNORECASE)
OFFSETS = {"offsets.topic.num.partitions": "5"}


@dataclass
class Written:
    """What Kafka acknowledged."""

    topic_ids: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[bytes]] = field(default_factory=dict)


@dataclass
class TakenOver:
    written: Written
    broker: BrokerProcess
    directory: Path
    kafka: RealKafka


def described_ids(bootstrap: str) -> dict[str, str]:
    with ClusterClient(parse_addresses(bootstrap), client_id="test") as cluster:
        found = cluster.refresh(None)
        return {name: view.topic_id.hex() for name, view in found.items() if not isinstance(view, Exception)}


def write_all(kafka: RealKafka, tools: KafkaTools) -> Written:
    written = Written()
    server = ("--bootstrap-server", kafka.bootstrap)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    topics = [NewTopic(codec, 1, 1) for codec in CODECS]
    topics += [
        NewTopic("segments", 2, 1, config={"segment.bytes": "1048576", "retention.ms": "-1"}),
        NewTopic("compacted", 1, 1, config={"cleanup.policy": "compact"}),
        NewTopic("transactions", 1, 1),
        NewTopic("doomed", 1, 1),
    ]
    for made in admin.create_topics(topics).values():
        made.result(20)
    for codec in CODECS:
        values = [f"{codec} {number}".encode() for number in range(COUNT)]
        options = {"compression.type": codec, "enable.idempotence": True}
        produce_all(kafka.bootstrap, codec, values, options)
        written.values[codec] = values
    big = [b"%06d" % number + bytes(10_000) for number in range(400)]
    produce_all(kafka.bootstrap, "segments", [{"value": value, "partition": 1} for value in big])
    written.values["segments"] = big
    produce_all(kafka.bootstrap, "compacted", [{"key": f"{n % 7}", "value": f"{n}"} for n in range(70)])
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "writer"})
    producer.init_transactions()
    for number in range(4):
        producer.begin_transaction()
        producer.produce("transactions", b"kept" if number % 2 else b"aborted")
        producer.flush()
        (producer.commit_transaction if number % 2 else producer.abort_transaction)()
    written.values["transactions"] = [b"kept", b"kept"]
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": GROUP})
    consumer.commit(offsets=[TopicPartition("none", 0, 17)], asynchronous=False)
    consumer.close()
    for made in admin.delete_topics(["doomed"]).values():
        made.result(20)
    quota = ("--entity-type", "clients", "--entity-name", "c", "--add-config", "producer_byte_rate=7000")
    tools.output("kafka-configs", *server, "--alter", *quota)
    tools.output(
        "kafka-configs",
        *(
            *server,
            "--alter",
            "--topic",
            "gzip",
            "--add-config",
            "retention.ms=86400000,max.message.bytes=77777",
        ),
    )
    tools.output("kafka-configs", *server, "--alter", "--topic", "gzip", "--delete-config", "retention.ms")
    written.topic_ids = {name: i for name, i in described_ids(kafka.bootstrap).items() if name != "doomed"}
    return written


@pytest.fixture(scope="module")
def taken_over(tmp_path_factory: pytest.TempPathFactory, kafka_tools: KafkaTools) -> Iterator[TakenOver]:
    folder = tmp_path_factory.mktemp("kafka-directory")
    directory = folder / "kafka"
    kafka = RealKafka(directory, OFFSETS)
    with kafka:
        written = write_all(kafka, kafka_tools)
        busy = MainstemCommand("").run("log", "import", directory, "--data-dir", folder / "early")
        assert (busy.code, "in use" in busy.stderr) == (1, True)
    done = (
        MainstemCommand("").ok("log", "import", directory, "--data-dir", folder / "data", "--json").document
    )
    assert (done["cluster_id"], done["node_id"]) == (CLUSTER_ID, 1)
    assert done["quotas"] == 1
    assert f"--log-dirs {directory}" in done["start"]
    assert "--only-whole-topics" not in str(done["left_out"])
    options = {"log.dirs": str(directory), "node.id": str(done["node_id"])}
    broker = BrokerProcess(folder / "data", options).start()
    yield TakenOver(written, broker, directory, kafka)
    broker.kill()


def test_a_directory_of_kafka_is_served_and_stays_one(taken_over: TakenOver, kafka_tools: KafkaTools) -> None:
    """One test, step by step: each leaves the directory to the next."""
    written, broker = taken_over.written, taken_over.broker
    check_metadata(written, broker)
    check_records(written, broker)
    check_epochs(written, broker)
    append(written, broker)
    assert broker.stop() == 0
    assert "ERROR" not in broker.log_text()
    check_files(taken_over.directory, kafka_tools)
    broker.start()
    check_records(written, broker)
    assert broker.stop() == 0
    with taken_over.kafka as kafka:  # back again: nothing stands in the way
        for topic in (*CODECS, "transactions"):
            assert values_of(kafka.bootstrap, topic) == written.values[topic]


def values_of(bootstrap: str, topic: str) -> list[bytes | None]:
    options = {"isolation.level": "read_committed"}
    return [message.value() for message in read_topic(bootstrap, topic, options)]


def check_metadata(written: Written, broker: BrokerProcess) -> None:
    ids = described_ids(broker.bootstrap)
    assert ids == written.topic_ids
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    assert admin.describe_cluster().result(20).cluster_id == CLUSTER_ID
    wanted = {
        "segments": {"segment.bytes": "1048576", "retention.ms": "-1"},
        "compacted": {"cleanup.policy": "compact"},
        "gzip": {"max.message.bytes": "77777", "retention.ms": "604800000"},
    }
    for topic, options in wanted.items():
        resource = ConfigResource(ResourceType.TOPIC, topic)
        found = admin.describe_configs([resource])[resource].result(20)
        assert {name: found[name].value for name in options} == options
    quotas = request(broker.admin_url, "/v1/quotas").json["quotas"]
    assert quotas == [{"entity": {"client-id": "c"}, "limits": {"producer_byte_rate": 7000.0}}]


def check_records(written: Written, broker: BrokerProcess) -> None:
    for codec in CODECS:
        messages = read_topic(broker.bootstrap, codec)
        assert [message.value() for message in messages] == written.values[codec]
        assert [message.offset() for message in messages] == list(range(len(messages)))
    segments = read_topic(broker.bootstrap, "segments")
    assert [message.value() for message in segments] == written.values["segments"]
    assert {message.partition() for message in segments} == {1}
    last = {message.key(): message.value() for message in read_topic(broker.bootstrap, "compacted")}
    assert last == {f"{n % 7}".encode(): f"{n}".encode() for n in range(63, 70)}
    assert values_of(broker.bootstrap, "transactions") == written.values["transactions"]
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": GROUP})
    (committed,) = consumer.committed([TopicPartition("none", 0)], timeout=20)
    consumer.close()
    assert committed.offset == 17


def check_epochs(written: Written, broker: BrokerProcess) -> None:
    """What is appended here is of a later epoch, and what Kafka wrote ends where Kafka's epoch ends."""
    first = read_topic(broker.bootstrap, "none")[0].leader_epoch()
    produce_all(broker.bootstrap, "none", [b"none later"])
    assert read_topic(broker.bootstrap, "none")[-1].leader_epoch() > first
    with ClusterClient(parse_addresses(broker.bootstrap), client_id="test") as cluster:
        asked = OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=first)
        answer = cluster.ask(
            OffsetForLeaderEpochRequest(
                replica_id=-1, topics=[OffsetForLeaderTopic(topic="none", partitions=[asked])]
            ),
            OffsetForLeaderEpochResponse,
        )
    written.values["none"].append(b"none later")
    (told,) = answer.topics[0].partitions
    assert (told.error_code, told.end_offset) == (0, COUNT)


def append(written: Written, broker: BrokerProcess) -> None:
    for codec in CODECS:
        more = [f"{codec} more {number}".encode() for number in range(50)]
        options = {"compression.type": codec, "enable.idempotence": True}
        messages = produce_all(broker.bootstrap, codec, more, options)
        begin = len(written.values[codec])
        assert [message.offset() for message in messages] == list(range(begin, begin + 50))
        written.values[codec] += more
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "writer"})
    producer.init_transactions(20)  # the id is known from Kafka's own transaction log
    for value in (b"given up", b"kept here"):
        producer.begin_transaction()
        producer.produce("transactions", value)
        producer.flush(20)
        (producer.commit_transaction if value == b"kept here" else producer.abort_transaction)(20)
    written.values["transactions"].append(b"kept here")


def check_files(directory: Path, tools: KafkaTools) -> None:
    for topic in ("none", "zstd", "transactions"):
        files = sorted((directory / f"{topic}-0").glob("*.log"))
        dump = tools.output("kafka-dump-log", "--deep-iteration", "--files", ",".join(map(str, files)))
        assert not COMPLAINT.search(dump), dump[-2000:]
    indexes = sorted((directory / "segments-1").glob("*index"))
    dump = tools.output("kafka-dump-log", "--index-sanity-check", "--files", ",".join(map(str, indexes)))
    assert not COMPLAINT.search(dump), dump[-2000:]
    metadata = directory / "__cluster_metadata-0" / "00000000000000000000.log"
    assert metadata.stat().st_size > 0
