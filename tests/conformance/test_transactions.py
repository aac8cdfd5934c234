"""Transactions for clients: confluent-kafka, our own client, `mainstem txn` and the admin interface."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.support.broker_process import BrokerProcess
from tests.support.confluent import create_topic, read_topic, transactional_producer
from tests.support.deadline import eventually
from tests.support.mainstem_command import MainstemCommand

from mainstem.client.addresses import parse_addresses
from mainstem.client.cluster import ClusterClient
from mainstem.client.errors import Refused
from mainstem.client.transactions import (
    AlreadyDecided,
    TransactionalProducer,
    decide,
    describe_transaction,
    describe_writer,
)
from mainstem.model.records import NewRecord

QUICK = {
    "transaction.state.log.num.partitions": "5",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "5",
}
PATIENCE_S = 30.0
COMMITTED = {"isolation.level": "read_committed"}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    started = BrokerProcess(tmp_path_factory.mktemp("transactions") / "data", QUICK).start()
    yield started
    assert started.stop() == 0, started.log_text()[-4000:]


@pytest.fixture
def cluster(broker: BrokerProcess) -> Iterator[ClusterClient]:
    with ClusterClient(parse_addresses(broker.bootstrap)) as opened:
        yield opened


@pytest.fixture
def topic(broker: BrokerProcess, request: pytest.FixtureRequest) -> str:
    name = request.node.name.replace("[", ".").replace("]", "")
    return create_topic(AdminClient({"bootstrap.servers": broker.bootstrap}), name, 3)


def confluent(broker: BrokerProcess, transactional_id: str, **more: object) -> Producer:
    return transactional_producer(broker.bootstrap, transactional_id, **more)


def committed(broker: BrokerProcess, topic: str) -> list[bytes]:
    """What read_committed sees, up to the last stable offset."""
    return sorted(message.value() or b"" for message in read_topic(broker.bootstrap, topic, COMMITTED))


def written(broker: BrokerProcess, topic: str) -> list[bytes]:
    everything = {"isolation.level": "read_uncommitted"}
    return sorted(message.value() or b"" for message in read_topic(broker.bootstrap, topic, everything))


def record(value: bytes) -> NewRecord:
    return NewRecord(None, value, timestamp_ms=1_700_000_000_000)


# --- confluent-kafka


def test_committed_is_seen_and_aborted_is_not(broker: BrokerProcess, topic: str) -> None:
    producer = confluent(broker, topic)
    for number in range(10):
        producer.begin_transaction()
        for partition in range(3):
            producer.produce(topic, f"{number}-{partition}".encode(), partition=partition)
        if number % 2:
            producer.abort_transaction(PATIENCE_S)
        else:
            producer.commit_transaction(PATIENCE_S)
    # What an abort finds in the queue is never sent, so only a flushed one is sure to be in the log.
    producer.begin_transaction()
    producer.produce(topic, b"flushed", partition=0)
    assert producer.flush(PATIENCE_S) == 0
    producer.abort_transaction(PATIENCE_S)
    wanted = sorted(f"{number}-{partition}".encode() for number in range(0, 10, 2) for partition in range(3))
    assert eventually(lambda: committed(broker, topic) == wanted, "all that was committed")
    assert b"flushed" in written(broker, topic)


def test_an_open_transaction_is_not_seen(broker: BrokerProcess, topic: str) -> None:
    producer = confluent(broker, topic)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    assert producer.flush(PATIENCE_S) == 0
    assert committed(broker, topic) == []
    assert written(broker, topic) == [b"open"]
    producer.commit_transaction(PATIENCE_S)
    eventually(lambda: committed(broker, topic) == [b"open"], "what was committed")


def test_offsets_are_committed_with_what_was_written(broker: BrokerProcess, topic: str) -> None:
    group = f"group-of-{topic}"
    producer = confluent(broker, topic)
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": group, **COMMITTED}
    consumer = Consumer(settings)
    asked = [TopicPartition(topic, 0)]
    for offset, is_commit in [(5, True), (9, False), (7, True)]:
        producer.begin_transaction()
        producer.produce(topic, str(offset).encode(), partition=1)
        producer.send_offsets_to_transaction(
            [TopicPartition(topic, 0, offset)], consumer.consumer_group_metadata(), PATIENCE_S
        )
        if is_commit:
            producer.commit_transaction(PATIENCE_S)
        else:
            producer.abort_transaction(PATIENCE_S)
        wanted = offset if is_commit else 5
        assert consumer.committed(asked, PATIENCE_S)[0].offset == wanted
    consumer.close()
    eventually(lambda: committed(broker, topic) == [b"5", b"7"], "what was committed")


def test_a_second_producer_fences_the_first(broker: BrokerProcess, topic: str) -> None:
    zombie = confluent(broker, topic)
    zombie.begin_transaction()
    zombie.produce(topic, b"left open", partition=0)
    assert zombie.flush(PATIENCE_S) == 0
    newer = confluent(broker, topic)
    newer.begin_transaction()
    newer.produce(topic, b"newer", partition=0)
    newer.commit_transaction(PATIENCE_S)
    with pytest.raises(KafkaException) as refused:
        zombie.commit_transaction(PATIENCE_S)
    error = refused.value.args[0]
    assert error.code() == KafkaError._FENCED
    assert error.fatal()
    eventually(lambda: committed(broker, topic) == [b"newer"], "only what the newer one wrote")


def test_time_aborts_what_is_left_open(broker: BrokerProcess, topic: str) -> None:
    producer = confluent(broker, topic, **{"transaction.timeout.ms": 1_000, "message.timeout.ms": 1_000})
    producer.begin_transaction()
    producer.produce(topic, b"too late", partition=0)
    assert producer.flush(PATIENCE_S) == 0
    with ClusterClient(parse_addresses(broker.bootstrap)) as cluster:
        eventually(
            lambda: describe_transaction(cluster, topic).state == "CompleteAbort",
            "the abort of what is overdue",
        )
    with pytest.raises(KafkaException):
        producer.commit_transaction(PATIENCE_S)
    assert committed(broker, topic) == []


def test_a_transaction_survives_a_kill_of_the_broker(tmp_path_factory: pytest.TempPathFactory) -> None:
    broker = BrokerProcess(tmp_path_factory.mktemp("killed") / "data", QUICK).start()
    with broker:
        topic = create_topic(AdminClient({"bootstrap.servers": broker.bootstrap}), "orders", 3)
        producer = confluent(broker, "survivor")
        producer.begin_transaction()
        producer.produce(topic, b"before", partition=0)
        assert producer.flush(PATIENCE_S) == 0
        broker.kill()
        broker.start()
        producer.produce(topic, b"after", partition=1)
        producer.commit_transaction(PATIENCE_S)
        eventually(lambda: committed(broker, topic) == [b"after", b"before"], "both parts of it")


# --- our own client, prepared transactions


def test_our_own_producer(broker: BrokerProcess, cluster: ClusterClient, topic: str) -> None:
    producer = TransactionalProducer(cluster, topic)
    for number in range(4):
        producer.begin()
        for partition in range(3):
            producer.send(topic, record(f"{number}-{partition}".encode()), partition=partition)
        producer.flush()
        if number % 2:
            producer.abort()
        else:
            producer.commit()
    producer.begin()
    producer.commit()  # of nothing
    other = TransactionalProducer(cluster, topic)
    producer.begin()
    producer.send(topic, record(b"zombie"), partition=0)
    producer.flush()
    other.init()
    with pytest.raises(Refused, match="FENCED"):
        producer.commit()
    wanted = sorted(f"{number}-{partition}".encode() for number in (0, 2) for partition in range(3))
    eventually(lambda: committed(broker, topic) == wanted, "what was committed")
    producer.close()
    other.close()


def test_prepared_transactions_and_their_decision(
    broker: BrokerProcess, cluster: ClusterClient, topic: str
) -> None:
    writer = topic
    ids = [f"{{{writer}}}{number}" for number in range(4)]
    for partition, transactional_id in enumerate(ids[:3]):
        task = TransactionalProducer(cluster, transactional_id, timeout_ms=1_000)
        task.begin()
        task.send(topic, record(transactional_id.encode()), partition=partition)
        assert task.prepare(5)
        task.close()
    late = TransactionalProducer(cluster, ids[3])
    late.begin()
    late.send(topic, record(b"late"), partition=0)
    late.flush()
    assert {each.transactional_id for each in describe_writer(cluster, writer).prepared} == set(ids[:3])
    assert committed(broker, topic) == []
    with pytest.raises(Refused, match="nothing is decided"):
        decide(cluster, writer, 5, ids)
    decision = decide(cluster, writer, 5, ids[:2])
    assert (decision.number, decision.committed_ids) == (5, frozenset(ids[:2]))
    assert decide(cluster, writer, 5, []) == decide(cluster, writer, 2, ids) == decision
    with pytest.raises(AlreadyDecided):
        late.prepare(5)
    late.abort()
    wanted = sorted(each.encode() for each in ids[:2])
    eventually(lambda: committed(broker, topic) == wanted, "what was decided")
    late.begin()  # the same producer, under the next number
    late.send(topic, record(b"next"), partition=2)
    assert late.prepare(6)
    decide(cluster, writer, 6, [ids[3]])
    eventually(lambda: committed(broker, topic) == sorted([*wanted, b"next"]), "the next decision")
    late.begin()
    assert not late.prepare(7)  # nothing was written
    late.close()


# --- tools


def test_mainstem_txn(broker: BrokerProcess, cluster: ClusterClient, topic: str) -> None:
    mainstem = MainstemCommand(broker.bootstrap)
    hanging = TransactionalProducer(cluster, topic)
    hanging.begin()
    hanging.send(topic, record(b"open"), partition=1)
    hanging.flush()
    listed = mainstem.ok("txn", "list", "--open-since", "0ms", "--pattern", f"{topic}.*", "--json").document
    assert [(each["transactional_id"], each["state"]) for each in listed] == [(topic, "Ongoing")]
    described = mainstem.ok("txn", "describe", topic, "--json").document
    assert described["partitions"] == [f"{topic}-1"]
    assert described["open_since"] is not None
    assert "Ongoing" in mainstem.ok("txn", "describe", topic).stdout
    assert mainstem.run("txn", "describe", "nobody").code == 1
    assert "no regular expression" in mainstem.run("txn", "list", "--pattern", "(").stderr
    assert mainstem.run("txn", "abort", topic).code == 2  # nobody to ask
    assert mainstem.ok("txn", "abort", topic, "--yes").stdout == f"aborted {topic}\n"
    assert "no transaction is open" in mainstem.run("txn", "abort", topic, "--yes").stderr
    ended = mainstem.ok("txn", "describe", topic, "--json").document
    assert (ended["open_since"], ended["partitions"]) == (None, [])
    with pytest.raises(Refused):
        hanging.commit()
    hanging.close()
    assert committed(broker, topic) == []


def test_mainstem_txn_of_writers(broker: BrokerProcess, cluster: ClusterClient, topic: str) -> None:
    mainstem = MainstemCommand(broker.bootstrap)
    writer, transactional_id = topic, f"{{{topic}}}1"
    task = TransactionalProducer(cluster, transactional_id)
    task.begin()
    task.send(topic, record(b"prepared"), partition=0)
    task.prepare(3)
    task.close()
    described = mainstem.ok("txn", "describe", transactional_id, "--json").document
    assert described["prepared_number"] == 3
    refused = mainstem.run("txn", "abort", transactional_id, "--yes")
    assert refused.code == 1
    assert "--writer" in refused.stderr
    rows = mainstem.ok("txn", "list", "--writers", "--json").document
    assert [row["prepared"] for row in rows if row["writer"] == writer] == [1]
    mainstem.ok("txn", "abort", "--writer", writer, "--number", 3, "--yes")
    again = mainstem.ok("txn", "abort", "--writer", writer, "--number", 2, "--yes")
    assert "nothing changed" in again.stdout
    eventually(lambda: describe_transaction(cluster, transactional_id).state == "CompleteAbort", "the abort")


def test_the_admin_interface(broker: BrokerProcess, cluster: ClusterClient, topic: str) -> None:
    producer = TransactionalProducer(cluster, topic)
    producer.begin()
    producer.send(topic, record(b"open"), partition=2)
    producer.flush()
    listed = _get(broker, f"/v1/transactions?state=Ongoing&after={topic[:-1]}")
    assert topic in {each["transactional_id"] for each in listed["transactions"]}
    described = _get(broker, f"/v1/transactions/{topic}")
    assert described["partitions"] == [{"topic": topic, "partition": 2}]
    figures = _text(broker, "/metrics")
    assert 'transactional_ids{state="Ongoing"} ' in figures
    request = urllib.request.Request(f"{broker.admin_url}/v1/transactions/{topic}", method="DELETE")
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        assert answer.status == 204
    eventually(lambda: _get(broker, f"/v1/transactions/{topic}")["state"] == "CompleteAbort", "the abort")
    for path, status in [(f"/v1/transactions/{topic}", 409), ("/v1/transactions/nobody", 404)]:
        request = urllib.request.Request(f"{broker.admin_url}{path}", method="DELETE")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=PATIENCE_S)
        assert refused.value.code == status
    producer.close()


def _text(broker: BrokerProcess, path: str) -> str:
    with urllib.request.urlopen(f"{broker.admin_url}{path}", timeout=PATIENCE_S) as answer:
        return str(answer.read().decode())


def _get(broker: BrokerProcess, path: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(_text(broker, path))
    return found
