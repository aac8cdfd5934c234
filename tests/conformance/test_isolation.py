"""What a reader of committed data is promised, and what others have got wrong: see docs/isolation.md.

confluent-kafka writes and reads; what no well-behaved client would send, a bare connection sends.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Self, TypeVar

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.support.broker_process import BrokerProcess
from tests.support.confluent import QUICK_MEMBER, create_topic, read_topic, transactional_producer
from tests.support.deadline import eventually
from tests.support.mainstem_command import MainstemCommand
from tests.support.transactions import transactional

from mainstem.heads.kafka.codes import ErrorCode
from mainstem.wire.kafka.frames import decode_response, encode_request
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from mainstem.wire.kafka.messages.end_txn import EndTxnRequest, EndTxnResponse
from mainstem.wire.kafka.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from mainstem.wire.kafka.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

QUICK = {
    "transaction.state.log.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
}
PATIENCE_S = 30.0
COMMITTED = {"isolation.level": "read_committed"}
LOADING = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
M = TypeVar("M", bound=Message)
EVERYTHING = {"isolation.level": "read_uncommitted"}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    started = BrokerProcess(tmp_path_factory.mktemp("isolation") / "data", QUICK).start()
    yield started
    assert started.stop() == 0, started.log_text()[-4000:]


@pytest.fixture
def topic(broker: BrokerProcess, request: pytest.FixtureRequest) -> str:
    name = request.node.name.replace("[", ".").replace("]", "")
    return create_topic(AdminClient({"bootstrap.servers": broker.bootstrap}), name, 2)


def writer(broker: BrokerProcess, transactional_id: str, **more: object) -> Producer:
    return transactional_producer(broker.bootstrap, transactional_id, **more)


def put(producer: Producer, topic: str, *values: bytes) -> None:
    """Writes and waits until all of it is in the log."""
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % 2)
    assert producer.flush(PATIENCE_S) == 0


def seen(broker: BrokerProcess, topic: str, config: dict[str, str] = COMMITTED) -> set[bytes]:
    values = [message.value() or b"" for message in read_topic(broker.bootstrap, topic, config)]
    assert len(values) == len(set(values)), "seen twice"
    return set(values)


class BareProducer:
    """A producer that says what the test wants, in versions of its choice. Version 11 writes as of old."""

    def __init__(self, broker: BrokerProcess, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.producer_id = -1
        self.epoch = -1
        self._socket = socket.create_connection((broker.host, broker.port), timeout=PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, request: Message, answer: type[M], version: int) -> M:
        key = request.SCHEMA.key
        self._socket.sendall(encode_request(key, version, 1, "bare", request))
        frame = self._receive(int.from_bytes(self._receive(4), "big"))
        _, response = decode_response(key, version, frame)
        assert isinstance(response, answer)
        return response

    def _receive(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            assert more, "the broker closed the connection"
            data += more
        return bytes(data)

    def init(self) -> None:
        """Asks until what was open before is ended."""

        def attempt() -> bool:
            request = InitProducerIdRequest(
                transactional_id=self.transactional_id, transaction_timeout_ms=60_000
            )
            answer = self.ask(request, InitProducerIdResponse, 4)
            assert answer.error_code in (0, ErrorCode.CONCURRENT_TRANSACTIONS, *LOADING)
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            return answer.error_code == 0

        eventually(attempt, "a producer id")

    def add(self, topic: str, *partitions: int) -> int:
        wanted = [AddPartitionsToTxnTopic(name=topic, partitions=list(partitions))]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=wanted,
        )
        codes: set[int] = set()

        def attempt() -> bool:
            answer = self.ask(request, AddPartitionsToTxnResponse, 3)
            [topic_result] = answer.results_by_topic_v3_and_below
            codes.clear()
            codes.update(each.partition_error_code for each in topic_result.results_by_partition)
            return ErrorCode.CONCURRENT_TRANSACTIONS not in codes

        eventually(attempt, "the partitions' place in the transaction")
        return max(codes)

    def write(
        self, topic: str, *values: bytes, sequence: int = 0, version: int = 11, partition: int = 0
    ) -> int:
        batch = transactional(self.producer_id, *values, epoch=self.epoch, sequence=sequence)
        data = TopicProduceData(
            name=topic, partition_data=[PartitionProduceData(index=partition, records=batch)]
        )
        request = ProduceRequest(
            transactional_id=self.transactional_id, acks=-1, timeout_ms=10_000, topic_data=[data]
        )
        answer = self.ask(request, ProduceResponse, version)
        return answer.responses[0].partition_responses[0].error_code

    def end(self, *, commit: bool) -> int:
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )
        return self.ask(request, EndTxnResponse, 3).error_code


# ---------------------------------------------------------------------------- what is seen


def test_committed_transactions_are_seen_whole_and_aborted_ones_not_at_all(
    broker: BrokerProcess, topic: str
) -> None:
    first, second = writer(broker, f"{topic}-1"), writer(broker, f"{topic}-2")
    for producer in (first, second):
        producer.begin_transaction()
    put(first, topic, b"1a", b"1b", b"1c")
    put(second, topic, b"2a", b"2b")
    assert seen(broker, topic) == set()
    assert seen(broker, topic, EVERYTHING) == {b"1a", b"1b", b"1c", b"2a", b"2b"}
    second.commit_transaction(PATIENCE_S)
    assert seen(broker, topic) == set(), "what stands behind an open transaction waits for it"
    first.abort_transaction(PATIENCE_S)
    eventually(lambda: seen(broker, topic) == {b"2a", b"2b"}, "the committed transaction")
    told = MainstemCommand(broker.bootstrap).ok("consume", topic, "--isolation", "read_committed")
    assert sorted(told.lines) == ["2a", "2b"]
    told = MainstemCommand(broker.bootstrap).ok("consume", topic)
    assert len(told.lines) == 5


def test_a_waiting_reader_gets_a_transaction_when_it_ends(broker: BrokerProcess, topic: str) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": topic,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 20_000,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    producer = writer(broker, topic)
    producer.begin_transaction()
    producer.produce(topic, b"a", partition=0)
    assert producer.flush(PATIENCE_S) == 0
    assert consumer.poll(0.5) is None
    producer.commit_transaction(PATIENCE_S)
    message = consumer.poll(15)
    assert message is not None
    assert message.value() == b"a"
    consumer.close()


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_restart_changes_nothing_of_what_is_seen(tmp_path: Path, how: str) -> None:
    with BrokerProcess(tmp_path / "data", QUICK) as broker:
        topic = create_topic(AdminClient({"bootstrap.servers": broker.bootstrap}), "t", 2)
        producer = writer(broker, "ends")
        for number in range(6):
            producer.begin_transaction()
            put(producer, topic, b"%d" % number, b"-%d" % number)
            if number % 2:
                producer.abort_transaction(PATIENCE_S)
            else:
                producer.commit_transaction(PATIENCE_S)
        committed = {value for number in (0, 2, 4) for value in (b"%d" % number, b"-%d" % number)}
        eventually(lambda: seen(broker, topic) == committed, "all that was committed")
        hanging = writer(broker, "hangs")
        hanging.begin_transaction()
        put(hanging, topic, b"open", b"too")
        del producer
        if how == "kill":
            broker.kill()
        else:
            assert broker.stop() == 0
        broker.start()
        assert seen(broker, topic) == committed, "an open transaction is open after a restart as well"
        assert {b"open", b"too"} < seen(broker, topic, EVERYTHING)
        after = writer(broker, "hangs")  # aborts what was open
        after.begin_transaction()
        put(after, topic, b"after")
        after.commit_transaction(PATIENCE_S)
        eventually(lambda: seen(broker, topic) == {*committed, b"after"}, "the transaction behind it")
        with pytest.raises(KafkaException) as refused:
            hanging.commit_transaction(PATIENCE_S)
        assert refused.value.args[0].fatal() or refused.value.args[0].code() == KafkaError._FENCED
        checked = MainstemCommand(broker.bootstrap)
        assert broker.stop() == 0
        checked.ok("log", "verify", tmp_path / "data" / "logs")


# ---------------------------------------------------------------------------- who comes too late


def test_a_zombie_writes_and_commits_nothing(broker: BrokerProcess, topic: str) -> None:
    with BareProducer(broker, topic) as zombie, BareProducer(broker, topic) as heir:
        zombie.init()
        assert zombie.add(topic, 0) == 0
        assert zombie.write(topic, b"of the zombie") == 0
        heir.init()
        assert heir.epoch > zombie.epoch
        for version in (11, 12):
            assert (
                zombie.write(topic, b"late", sequence=1, version=version) == ErrorCode.INVALID_PRODUCER_EPOCH
            )
        assert zombie.end(commit=True) in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
        assert zombie.add(topic, 0) in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
        assert heir.add(topic, 0) == 0
        assert heir.write(topic, b"of the heir") == 0
        assert heir.end(commit=True) == 0
    eventually(lambda: seen(broker, topic) == {b"of the heir"}, "the heir's transaction")


def test_a_write_that_comes_after_its_transaction_opens_none(broker: BrokerProcess, topic: str) -> None:
    """It would hang for ever, and all readers of committed data behind it."""
    with BareProducer(broker, topic) as producer:
        producer.init()
        assert producer.add(topic, 0) == 0
        assert producer.write(topic, b"a") == 0
        assert producer.end(commit=False) == 0
        late = producer.write(topic, b"late", sequence=1)
        assert late in (
            ErrorCode.INVALID_TXN_STATE,
            ErrorCode.TRANSACTION_ABORTABLE,
            ErrorCode.INVALID_PRODUCER_EPOCH,
        )
        assert producer.write(topic, b"elsewhere", partition=1) != 0, "this partition was never added"
        assert producer.add(topic, 1) == 0
        assert producer.write(topic, b"b", partition=1) == 0
        assert producer.end(commit=True) == 0
    eventually(lambda: seen(broker, topic) == {b"b"}, "what was committed")
    other = writer(broker, f"{topic}-other")
    other.begin_transaction()
    put(other, topic, b"c")
    other.commit_transaction(PATIENCE_S)
    eventually(lambda: seen(broker, topic) == {b"b", b"c"}, "what stands behind")


def test_a_transactional_batch_needs_a_transaction(broker: BrokerProcess, topic: str) -> None:
    with BareProducer(broker, topic) as producer:
        producer.init()
        batch = transactional(producer.producer_id, b"x", epoch=producer.epoch)
        data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])
        request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data])
        answer = producer.ask(request, ProduceResponse, 9)
        refused = answer.responses[0].partition_responses[0].error_code
        assert refused == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        assert producer.write(topic, b"x") in (ErrorCode.INVALID_TXN_STATE, ErrorCode.TRANSACTION_ABORTABLE)
    assert seen(broker, topic, EVERYTHING) == set()


# ---------------------------------------------------------------------------- groups


def test_offsets_are_committed_with_what_was_made_of_them(broker: BrokerProcess, topic: str) -> None:
    source = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(20):
        source.produce(topic, b"%d" % number, partition=0)
    assert source.flush(PATIENCE_S) == 0
    target = create_topic(AdminClient({"bootstrap.servers": broker.bootstrap}), f"{topic}-target", 1)
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": topic,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            **QUICK_MEMBER,
        }
    )
    consumer.subscribe([topic])
    producer = writer(broker, topic)

    def copy(count: int) -> None:
        producer.begin_transaction()
        copied = 0
        while copied < count:
            message = consumer.poll(PATIENCE_S)
            assert message is not None
            assert message.error() is None
            producer.produce(target, message.value())
            copied += 1
        positions = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), PATIENCE_S)

    def committed() -> int:
        return int(consumer.committed([TopicPartition(topic, 0)], PATIENCE_S)[0].offset)

    copy(10)
    producer.commit_transaction(PATIENCE_S)
    assert committed() == 10
    copy(5)
    producer.abort_transaction(PATIENCE_S)
    assert committed() == 10
    assert seen(broker, target) == {b"%d" % number for number in range(10)}
    consumer.seek(TopicPartition(topic, 0, 10))
    copy(10)
    producer.commit_transaction(PATIENCE_S)
    assert committed() == 20
    assert seen(broker, target) == {b"%d" % number for number in range(20)}
    consumer.close()
