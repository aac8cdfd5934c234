"""Produce from frame to frame, over a broker that answers when the test says so."""

from __future__ import annotations

import logging
import struct
from typing import Any

import pytest
from tests.unit.heads.kafka.conversation import Conversation, frame
from tests.unit.heads.kafka.recording_broker import TOPIC_ID, RecordingBroker, converse, image_of

from mainstem.core.errors import (
    CorruptBatch,
    NotLeaderOrFollower,
    RequestTimedOut,
    UnknownTopicOrPartition,
)
from mainstem.core.partition import ProduceResult
from mainstem.core.transactions.produce import ProduceTransaction
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.log.errors import InvalidRecord
from mainstem.wire.kafka.frames import decode_response, encode_request
from mainstem.wire.kafka.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

KEY = 0
VERSIONS = range(3, 14)
OK = ProduceResult(40, -1, 2)


def request(
    version: int,
    *partitions: int,
    acks: int = 1,
    records: bytes | None = b"batch",
    transactional_id: str | None = None,
    number: int = 7,
    topic_id: bytes = TOPIC_ID,
) -> bytes:
    by_id = version >= 13
    topic = TopicProduceData(
        name="" if by_id else "orders",
        topic_id=topic_id if by_id else bytes(16),
        partition_data=[PartitionProduceData(index=index, records=records) for index in partitions],
    )
    message = ProduceRequest(transactional_id=transactional_id, acks=acks, timeout_ms=500, topic_data=[topic])
    return encode_request(KEY, version, number, "me", message)


def responses(talk: Conversation, version: int) -> list[ProduceResponse]:
    decoded: list[Any] = [decode_response(KEY, version, data[4:]) for data in talk.sent]
    return [response for _, response in decoded]


@pytest.fixture
def broker() -> RecordingBroker:
    return RecordingBroker()


@pytest.fixture
def talk(broker: RecordingBroker) -> Conversation:
    return converse(broker)


@pytest.mark.parametrize("version", VERSIONS)
def test_batches_reach_the_broker_and_offsets_the_client(
    talk: Conversation, broker: RecordingBroker, version: int
) -> None:
    """The first request of a kind is read in full, the others by its route."""
    for number in range(3):
        talk.receive(request(version, 0, number=number))
        call = broker.produced[number]
        assert [(e.topic, e.partition, bytes(e.records or b"")) for e in call.entries] == [
            ("orders", 0, b"batch")
        ]
        assert (call.acks, call.timeout_ms) == (1, 500)
        assert len(talk.sent) == number
        call.done([OK._replace(base_offset=number)])
    for number, response in enumerate(responses(talk, version)):
        [answer] = response.responses[0].partition_responses
        assert (answer.error_code, answer.base_offset) == (0, number)


@pytest.mark.parametrize("version", VERSIONS)
def test_many_partitions_in_one_request(talk: Conversation, broker: RecordingBroker, version: int) -> None:
    talk.receive(request(version, 0, 1, 1))
    broker.produced[0].done([OK, ProduceResult(-1, -1, 2, CorruptBatch("bad checksum")), OK])
    [response] = responses(talk, version)
    answers = response.responses[0].partition_responses
    assert [(one.index, one.error_code) for one in answers] == [(0, 0), (1, 2), (1, 0)]
    assert version < 8 or answers[1].error_message == "bad checksum"
    assert version < 5 or answers[1].log_start_offset == 2


@pytest.mark.parametrize("version", VERSIONS)
def test_refusals_of_routed_requests_have_their_form(
    talk: Conversation, broker: RecordingBroker, version: int
) -> None:
    for number, code in enumerate([0, 3]):
        error = UnknownTopicOrPartition("gone") if code else None
        talk.receive(request(version, 0, number=number))
        broker.produced[number].done([OK._replace(error=error)])
        answer = responses(talk, version)[number].responses[0].partition_responses[0]
        assert answer.error_code == code


@pytest.mark.parametrize("version", [9, 10, 13])
def test_a_producer_learns_who_leads(talk: Conversation, broker: RecordingBroker, version: int) -> None:
    talk.receive(request(version, 1))
    broker.produced[0].done([ProduceResult(-1, -1, -1, NotLeaderOrFollower("not me"))])
    [response] = responses(talk, version)
    [answer] = response.responses[0].partition_responses
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    if version >= 10:
        assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (2, 6)
        [node] = response.node_endpoints
        assert (node.node_id, node.host, node.port) == (2, "two.test", 9093)


# ---------------------------------------------------------------------------- acks


def test_without_acks_there_is_no_answer(talk: Conversation, broker: RecordingBroker) -> None:
    for number in range(2):
        talk.receive(request(9, 0, acks=0, number=number))
        assert broker.produced[number].acks == 0
    talk.receive(request(9, 0, acks=1, number=3))
    for call in broker.produced:
        call.done([OK])
    assert [int.from_bytes(data[4:8], "big") for data in talk.sent] == [3]
    assert talk.memory.held_bytes == 0


@pytest.mark.parametrize("is_routed", [False, True])
def test_without_acks_an_error_closes_the_connection(
    talk: Conversation, broker: RecordingBroker, is_routed: bool
) -> None:
    if is_routed:
        talk.receive(request(9, 0, acks=0))
        broker.produced.pop().done([OK])
    talk.receive(request(9, 0, acks=0))
    broker.produced[0].done([ProduceResult(-1, -1, -1, CorruptBatch("bad checksum"))])
    assert talk.sent == []
    assert talk.channel.closed_because is not None
    assert "bad checksum" in talk.channel.closed_because


@pytest.mark.parametrize("version", [3, 9, 13])
@pytest.mark.parametrize("acks", [-2, 2, 32767])
def test_other_acks_are_refused(talk: Conversation, broker: RecordingBroker, version: int, acks: int) -> None:
    for number in range(2):
        talk.receive(request(version, 0, acks=acks, number=number))
        answer = responses(talk, version)[number].responses[0].partition_responses[0]
        assert answer.error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert broker.produced == []


# ---------------------------------------------------------------------------- what is not served


@pytest.mark.parametrize("version", VERSIONS)
def test_a_transaction_is_handed_on_and_its_requests_get_no_route(
    talk: Conversation, broker: RecordingBroker, version: int
) -> None:
    for number in range(2):
        talk.receive(request(version, 0, transactional_id="t", number=number))
    for produced in broker.produced:
        assert produced.transaction == ProduceTransaction("t", version >= 12, version >= 11)
        assert len(produced.entries) == 1
    assert len(broker.produced) == 2


@pytest.mark.parametrize("version", VERSIONS)
def test_without_a_coordinator_transactions_are_refused(
    talk: Conversation, broker: RecordingBroker, version: int
) -> None:
    broker.serves_transactions = False
    talk.receive(request(version, 0, transactional_id="t"))
    answer = responses(talk, version)[0].responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert version < 8 or (answer.error_message is not None and "transactions" in answer.error_message)
    assert broker.produced == []


@pytest.mark.parametrize("version", [0, 1, 2])
def test_old_versions_are_advertised_and_refused(
    talk: Conversation, broker: RecordingBroker, version: int
) -> None:
    body = struct.pack(">hii", 1, 500, 1) + b"\0\1a" + struct.pack(">iii", 1, 6, 3) + b"old"
    talk.receive(frame(body, 7, KEY, version))
    [answer] = talk.sent
    assert answer[8:25] == struct.pack(">i", 1) + b"\0\1a" + struct.pack(">iih", 1, 6, 35)
    assert broker.produced == []
    assert not talk.channel.is_closed
    assert talk.head.apis[KEY].min_version == 0


def test_a_topic_id_that_nobody_has(talk: Conversation, broker: RecordingBroker) -> None:
    talk.receive(request(13, 0, topic_id=b"?" * 16))
    broker.produced[0].done([ProduceResult(-1, -1, -1, UnknownTopicOrPartition("nothing"))])
    [response] = responses(talk, 13)
    assert response.responses[0].topic_id == b"?" * 16
    assert response.responses[0].partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_route_ends_with_its_topic(talk: Conversation, broker: RecordingBroker) -> None:
    """Deleted, and made again under its name: the old id must not write into the new topic."""
    talk.receive(request(13, 0))
    broker.produced[0].done([OK])
    broker.image = image_of({"orders": TOPIC_ID[::-1]})  # type: ignore[dict-item]
    talk.receive(request(13, 0))
    assert broker.produced[1].entries[0].topic == ""


def test_topics_that_are_not_there_make_no_routes(talk: Conversation, broker: RecordingBroker) -> None:
    broker.image = image_of({})
    talk.receive(request(9, 0))
    assert talk.session.produce_key_bytes == 0


def test_a_request_without_partitions_is_answered(talk: Conversation, broker: RecordingBroker) -> None:
    talk.receive(request(9))
    broker.produced[0].done([])
    assert responses(talk, 9)[0].responses[0].partition_responses == []


# ---------------------------------------------------------------------------- buffers and failures


def large(talk: Conversation, broker: RecordingBroker) -> bytearray:
    """A request in a buffer of its own; the buffer."""
    talk.receive(request(9, 0, records=b"x" * 300_000))
    records = broker.produced[-1].entries[0].records
    assert isinstance(records, memoryview)
    assert isinstance(records.obj, bytearray)
    return records.obj


def test_the_buffer_is_used_again_when_all_was_written(talk: Conversation, broker: RecordingBroker) -> None:
    buffer = large(talk, broker)
    assert talk.memory.take(len(buffer)) is not buffer
    broker.produced[0].done([OK])
    assert talk.memory.take(len(buffer)) is buffer


@pytest.mark.parametrize("error", [RequestTimedOut("late"), NotLeaderOrFollower("moved meanwhile")])
@pytest.mark.parametrize("is_routed", [False, True])
def test_the_buffer_of_a_write_that_was_given_up_is_not_used_again(
    talk: Conversation, broker: RecordingBroker, error: Exception, is_routed: bool
) -> None:
    if is_routed:
        talk.receive(request(9, 0))
        broker.produced.pop().done([OK])
    buffer = large(talk, broker)
    broker.produced[0].done([ProduceResult(-1, -1, -1, error)])
    assert talk.memory.take(len(buffer)) is not buffer
    assert talk.memory.held_bytes == 0


def test_a_lost_connection_keeps_the_buffer_until_the_write_is_done(
    talk: Conversation, broker: RecordingBroker
) -> None:
    buffer = large(talk, broker)
    talk.session.closed()
    assert talk.memory.take(len(buffer)) is not buffer
    assert talk.memory.held_bytes > 0
    broker.produced[0].done([OK])
    assert talk.memory.take(len(buffer)) is buffer
    assert talk.memory.held_bytes == 0
    assert talk.sent == []


def test_what_nobody_meant_is_logged_and_not_told(
    talk: Conversation, broker: RecordingBroker, caplog: pytest.LogCaptureFixture
) -> None:
    talk.receive(request(9, 0))
    with caplog.at_level(logging.ERROR):
        broker.produced[0].done([ProduceResult(-1, -1, -1, RuntimeError("secret"))])
    [answer] = responses(talk, 9)[0].responses[0].partition_responses
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert answer.error_message is not None
    assert "secret" not in answer.error_message
    assert "secret" in caplog.text


def test_a_cut_request_closes_the_connection(talk: Conversation, broker: RecordingBroker) -> None:
    talk.receive(request(9, 0))
    whole = request(9, 0)
    talk.receive((len(whole) - 7).to_bytes(4, "big") + whole[4:-3])
    assert talk.channel.is_closed
    assert len(broker.produced) == 1


def test_produced_bytes_are_counted(talk: Conversation) -> None:
    talk.receive(request(9, 0, records=b"x" * 1000))
    assert 1000 < talk.head.meters.produced_bytes < 1100


@pytest.mark.parametrize("version", [7, 8, 9])
def test_each_record_that_is_refused_is_told_by_its_number(
    talk: Conversation, broker: RecordingBroker, version: int
) -> None:
    talk.receive(request(version, 0))
    error = InvalidRecord("two of them", [(1, "no key"), (4, "no key")])
    broker.produced[0].done([ProduceResult(-1, -1, -1, error)])
    [answer] = responses(talk, version)[0].responses[0].partition_responses
    assert answer.error_code == ErrorCode.INVALID_RECORD
    told = [(each.batch_index, each.batch_index_error_message) for each in answer.record_errors]
    assert told == ([] if version < 8 else [(1, "no key"), (4, "no key")])
    assert answer.error_message == (None if version < 8 else "two of them")
