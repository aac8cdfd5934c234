"""Kafka's tools for transactions, and its decoder of the transaction log, which passes over what is ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from tests.support.broker_process import BrokerProcess
from tests.support.confluent import create_topic
from tests.support.deadline import eventually
from tests.support.kafka_tools import KafkaTools

from mainstem.client.addresses import parse_addresses
from mainstem.client.cluster import ClusterClient
from mainstem.client.transactions import TransactionalProducer, decide, describe_writer
from mainstem.model.records import NewRecord

pytestmark = pytest.mark.xdist_group("kafka-tools")

OPTIONS = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "3"}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    started = BrokerProcess(tmp_path / "data", OPTIONS).start()
    yield started
    started.stop()


def test_tools_of_kafka(broker: BrokerProcess, kafka_tools: KafkaTools) -> None:
    create_topic(AdminClient({"bootstrap.servers": broker.bootstrap}), "t", 3)
    with ClusterClient(parse_addresses(broker.bootstrap)) as cluster:
        for partition, transactional_id in enumerate(("{w}1", "{w}2", "x")):
            producer = TransactionalProducer(cluster, transactional_id)
            producer.begin()
            producer.send("t", NewRecord(None, b"v", timestamp_ms=1), partition=partition)
            producer.flush()
            if transactional_id != "x":
                producer.prepare(4)
            producer.close()
        decide(cluster, "w", 4, ["{w}2"])
        eventually(lambda: not describe_writer(cluster, "w").prepared, "the end of what was decided")
    server = ("--bootstrap-server", broker.bootstrap)

    listed = kafka_tools.output("kafka-transactions", *server, "list")
    states = {row.split()[0]: row.split()[3] for row in listed.splitlines()[1:] if row.split()}
    assert states == {"{w}1": "CompleteAbort", "{w}2": "CompleteCommit", "x": "Ongoing"}
    described = kafka_tools.output("kafka-transactions", *server, "describe", "--transactional-id", "x")
    assert re.search(r"\bx\s+\d+\s+0\s+Ongoing\s+60000\s.*\bt-2\b", described)

    hanging = kafka_tools.output("kafka-transactions", *server, "find-hanging", "--broker-id", "1")
    assert len(hanging.splitlines()) <= 1  # at most the head of a table: what is open is known

    features = kafka_tools.output("kafka-features", *server, "describe")
    assert re.search(r"transaction\.version\s.*FinalizedVersionLevel: 2\s", features)
    kafka_tools.output("kafka-features", *server, "upgrade", "--feature", "transaction.version=2")
    refused = kafka_tools.run("kafka-features", *server, "downgrade", "--feature", "transaction.version=1")
    assert refused.exit_code == 1
    assert "cannot be changed" in refused.out

    (log,) = broker.data_dir.glob("**/__transaction_state-0/*.log")
    dumped = kafka_tools.output("kafka-dump-log", "--transaction-log-decoder", "--files", str(log))
    written = re.findall(
        r'key: \{"type":"0","data":\{"transactionalId":"([^"]+)"\}\} payload: (\{.*\})', dumped
    )
    assert {each for each, _ in written} == {"{w}1", "{w}2", "x"}
    assert '"transactionStatus":4' in [payload for each, payload in written if each == "{w}2"][-1]
    assert dumped.count("Unknown record type 10000") == 1  # the decision, which is ours alone
