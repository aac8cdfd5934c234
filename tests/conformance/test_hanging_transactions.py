"""A transaction in a partition that no coordinator knows: `mainstem txn hanging` finds and ends it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from tests.support.broker_process import BrokerProcess
from tests.support.confluent import create_topic, read_topic
from tests.support.mainstem_command import MainstemCommand
from tests.support.raw_kafka import RawConnection
from tests.support.transactions import transactional

from mainstem.client.addresses import parse_addresses
from mainstem.client.cluster import ClusterClient
from mainstem.client.transactions import TransactionalProducer, describe_transaction
from mainstem.model.records import NewRecord
from mainstem.wire.kafka.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

LOST_PRODUCER = 4_242
COMMITTED = {"isolation.level": "read_committed"}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    options = {
        "transaction.partition.verification.enable": "false",
        "transaction.state.log.num.partitions": "2",
    }
    started = BrokerProcess(tmp_path / "data", options).start()
    yield started
    assert started.stop() == 0, started.log_text()[-4000:]


def write_and_leave(broker: BrokerProcess, topic: str, partition: int) -> None:
    """As a client of the first protocol that is late: its transaction is over at the coordinator."""
    host, _, port = broker.bootstrap.rpartition(":")
    batch = transactional(LOST_PRODUCER, b"lost", time_ms=int(time.time() * 1000))
    one = PartitionProduceData(index=partition, records=batch)
    request = ProduceRequest(
        transactional_id="lost",
        acks=-1,
        timeout_ms=30_000,
        topic_data=[TopicProduceData(name=topic, partition_data=[one])],
    )
    with RawConnection((host, int(port))) as peer:
        answer = peer.ask(request, 9)
    assert answer.responses[0].partition_responses[0].error_code == 0


def seen(broker: BrokerProcess, topic: str) -> list[bytes]:
    return sorted(message.value() or b"" for message in read_topic(broker.bootstrap, topic, COMMITTED))


def test_what_hangs_is_found_and_ended_and_what_is_open_is_left_alone(broker: BrokerProcess) -> None:
    mainstem = MainstemCommand(broker.bootstrap)
    topic = create_topic(AdminClient({"bootstrap.servers": broker.bootstrap}), "orders", 2)
    assert mainstem.ok("txn", "hanging", "--json").document == []
    write_and_leave(broker, topic, 0)
    with ClusterClient(parse_addresses(broker.bootstrap)) as cluster:
        honest = TransactionalProducer(cluster, "honest")
        honest.begin()
        for partition in (0, 1):
            honest.send(topic, NewRecord(None, b"good", timestamp_ms=1), partition=partition)
        honest.flush()

        assert mainstem.ok("txn", "hanging", "--json").document == []  # it may still be on its way
        now = ("hanging", "--silent-since", "0s")
        (found,) = mainstem.ok("txn", *now, "--json").document
        assert (found["partition"], found["producer_id"], found["first_offset"]) == (
            "orders-0",
            LOST_PRODUCER,
            0,
        )
        assert mainstem.ok("txn", *now, "--topic", topic, "--json").document == [found]
        assert mainstem.run("txn", "hanging", "--topic", "nothing").code == 1
        assert mainstem.run("txn", *now, "--abort").code == 2  # nobody to ask
        assert str(LOST_PRODUCER) in mainstem.ok("txn", *now).stdout

        done = mainstem.ok("txn", *now, "--abort", "--yes")
        assert done.stderr == "aborted 1 transaction\n"
        assert mainstem.ok("txn", *now, "--abort", "--yes", "--json").document == []
        assert describe_transaction(cluster, "honest").state == "Ongoing"
        assert seen(broker, topic) == []
        honest.commit()
        assert seen(broker, topic) == [b"good", b"good"]
