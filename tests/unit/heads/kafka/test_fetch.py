"""Fetch from frame to frame, over a broker that answers when the test says so."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import pytest
from tests.unit.heads.kafka.conversation import Conversation
from tests.unit.heads.kafka.recording_broker import TOPIC_ID, RecordingBroker, converse, image_of

from mainstem.config.broker import BrokerConfig
from mainstem.core.errors import (
    FencedLeaderEpoch,
    NotLeaderOrFollower,
    OffsetOutOfRange,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from mainstem.core.partition import FetchResult
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.session import PendingAnswer
from mainstem.wire.kafka.frames import decode_response, encode_request
from mainstem.wire.kafka.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)

KEY = 1
VERSIONS = range(4, 19)


class Slice(NamedTuple):
    content: bytes

    @property
    def length(self) -> int:
        return len(self.content)

    def __bytes__(self) -> bytes:
        return self.content


def found(content: bytes | None = None, watermark: int = 10) -> FetchResult:
    records: Any = None if content is None else Slice(content)
    return FetchResult(None, watermark, watermark, 0, records)


def failed(error: Exception) -> FetchResult:
    return FetchResult(error, -1, -1, -1, None)


def request(
    version: int,
    *partitions: int,
    session_id: int = 0,
    epoch: int = -1,
    forgotten: tuple[int, ...] = (),
    offset: int = 5,
    topic_id: bytes = TOPIC_ID,
    **limits: int,
) -> bytes:
    name: Any = {"topic_id": topic_id} if version >= 13 else {"topic": "orders"}
    listed = [FetchPartition(partition=p, fetch_offset=offset, partition_max_bytes=99) for p in partitions]
    message = FetchRequest(
        max_wait_ms=limits.get("max_wait_ms", 500),
        min_bytes=limits.get("min_bytes", 1),
        max_bytes=limits.get("max_bytes", 1 << 20),
        isolation_level=limits.get("isolation", 0),
        topics=[FetchTopic(partitions=listed, **name)] if partitions else [],
    )
    if version >= 7:
        message.session_id, message.session_epoch = session_id, epoch
        message.forgotten_topics_data = (
            [ForgottenTopic(partitions=list(forgotten), **name)] if forgotten else []
        )
    return encode_request(KEY, version, 7, "me", message)


def last(talk: Conversation, version: int) -> FetchResponse:
    _, response = decode_response(KEY, version, talk.sent[-1][4:])
    assert isinstance(response, FetchResponse)
    return response


def partitions(response: FetchResponse) -> list[PartitionData]:
    return [one for topic in response.responses for one in topic.partitions]


@pytest.fixture
def broker() -> RecordingBroker:
    return RecordingBroker()


@pytest.fixture
def talk(broker: RecordingBroker) -> Conversation:
    return converse(broker)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_asked_reaches_the_broker_and_records_the_client(
    talk: Conversation, broker: RecordingBroker, version: int
) -> None:
    talk.receive(request(version, 0, 1, isolation=1))
    [call] = broker.fetched
    assert [(e.topic, e.partition, e.offset, e.max_bytes) for e in call.entries] == [
        ("orders", 0, 5, 99),
        ("orders", 1, 5, 99),
    ]
    assert (call.min_bytes, call.max_bytes, call.max_wait_ms, call.isolation) == (1, 1 << 20, 500, 1)
    assert talk.sent == []
    call.done([found(b"records"), found()])
    first, second = partitions(last(talk, version))
    assert (bytes(first.records or b""), first.high_watermark) == (b"records", 10)
    assert second.records == b""
    assert talk.head.meters.fetched_bytes == 7


def test_the_brokers_own_limit_binds(broker: RecordingBroker) -> None:
    broker.config = BrokerConfig(fetch_max_bytes=4096)
    talk = converse(broker)
    talk.receive(request(11, 0, max_bytes=1 << 30, min_bytes=1 << 20))
    assert (broker.fetched[0].min_bytes, broker.fetched[0].max_bytes) == (4096, 4096)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_error_is_told_with_the_rest(talk: Conversation, broker: RecordingBroker, version: int) -> None:
    talk.receive(request(version, 0, 1))
    broker.fetched[0].done([failed(OffsetOutOfRange(5, 6, 7)), found(b"records")])
    first, second = partitions(last(talk, version))
    assert (first.error_code, first.high_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert (second.error_code, bytes(second.records or b"")) == (0, b"records")


@pytest.mark.parametrize("version", [15, 16, 18])
@pytest.mark.parametrize("error", [NotLeaderOrFollower("not me"), FencedLeaderEpoch("old")])
def test_a_consumer_learns_who_leads(
    talk: Conversation, broker: RecordingBroker, version: int, error: Exception
) -> None:
    talk.receive(request(version, 0, 1))
    broker.fetched[0].done([failed(error), failed(error)])
    response = last(talk, version)
    leaders = [(p.current_leader.leader_id, p.current_leader.leader_epoch) for p in partitions(response)]
    nodes = [(node.node_id, node.host, node.port, node.rack) for node in response.node_endpoints]
    if version < 16:
        assert leaders == [(-1, -1), (-1, -1)]
        assert nodes == []
    else:
        assert leaders == [(1, 5), (2, 6)]
        assert nodes == [(1, "one.test", 9092, "rack-a"), (2, "two.test", 9093, None)]


@pytest.mark.parametrize("topic_id", [b"?" * 16, bytes(16)])
def test_a_topic_id_that_nobody_has(talk: Conversation, broker: RecordingBroker, topic_id: bytes) -> None:
    talk.receive(request(13, 0, topic_id=topic_id))
    assert broker.fetched[0].entries[0].topic == ""
    broker.fetched[0].done([failed(UnknownTopicOrPartition("nobody"))])
    [answer] = partitions(last(talk, 13))
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID


# ---------------------------------------------------------------------------- sessions


@pytest.mark.parametrize("version", range(7, 19))
def test_a_session_over_its_life(talk: Conversation, broker: RecordingBroker, version: int) -> None:
    talk.receive(request(version, 0, 1, epoch=0))
    broker.fetched[0].done([found(), found()])
    session_id = last(talk, version).session_id
    assert session_id > 0
    assert len(partitions(last(talk, version))) == 2

    talk.receive(request(version, session_id=session_id, epoch=1))
    broker.fetched[1].done([found(), found(b"records", 11)])
    assert last(talk, version).session_id == session_id
    assert [one.partition_index for one in partitions(last(talk, version))] == [1]

    talk.receive(request(version, 1, session_id=session_id, epoch=2, offset=11, forgotten=(0,)))
    assert [(e.partition, e.offset) for e in broker.fetched[2].entries] == [(1, 11)]
    broker.fetched[2].done([found(watermark=11)])
    assert partitions(last(talk, version)) == []

    talk.receive(request(version, session_id=session_id, epoch=2))
    assert last(talk, version).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH

    talk.receive(request(version, session_id=session_id, epoch=-1))
    broker.fetched[3].done([])
    assert (last(talk, version).error_code, last(talk, version).session_id) == (0, 0)
    talk.receive(request(version, session_id=session_id, epoch=3))
    assert last(talk, version).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert not talk.channel.is_closed


def test_versions_before_sessions_have_none(talk: Conversation, broker: RecordingBroker) -> None:
    talk.receive(request(6, 0))
    broker.fetched[0].done([found()])
    assert last(talk, 6).session_id == 0
    assert len(talk.head.fetch_sessions) == 0


def test_sessions_outlive_connections(broker: RecordingBroker) -> None:
    first = converse(broker)
    first.receive(request(12, 0, epoch=0))
    broker.fetched[0].done([found()])
    session_id = last(first, 12).session_id
    first.session.closed()
    second = Conversation(first.head)
    second.receive(request(12, session_id=session_id, epoch=1))
    assert [entry.partition for entry in broker.fetched[1].entries] == [0]


def test_a_topic_made_after_it_was_asked_for_is_found(talk: Conversation, broker: RecordingBroker) -> None:
    broker.image = image_of({})
    talk.receive(request(13, 0, epoch=0))
    broker.fetched[0].done([failed(UnknownTopicId("nobody"))])
    broker.image = image_of({"orders": TOPIC_ID})
    talk.receive(request(13, session_id=last(talk, 13).session_id, epoch=1))
    assert broker.fetched[1].entries[0].topic == "orders"


# ---------------------------------------------------------------------------- waiting


def test_records_are_not_read_by_the_head(talk: Conversation, broker: RecordingBroker) -> None:
    reserved: list[PendingAnswer] = []
    talk.channel.reserve = reserved.append  # type: ignore[method-assign]
    talk.receive(request(12, 0))
    result = found(b"records")
    broker.fetched[0].done([result])
    assert any(part is result.records for part in reserved[0].parts or ())


def test_when_the_connection_goes_the_wait_is_given_up(talk: Conversation, broker: RecordingBroker) -> None:
    talk.receive(request(12, 0))
    assert talk.session.is_busy
    talk.session.closed()
    assert broker.fetched[0].ticket.is_cancelled
    assert not talk.session.is_busy
    assert talk.memory.held_bytes == 0


def test_a_server_that_stops_does_not_wait_for_it(talk: Conversation) -> None:
    talk.receive(request(12, 0))
    talk.session.drain()
    assert talk.channel.is_closed


def test_what_nobody_meant_is_logged_and_told_as_such(
    talk: Conversation, broker: RecordingBroker, caplog: pytest.LogCaptureFixture
) -> None:
    talk.receive(request(12, 0))
    with caplog.at_level(logging.ERROR):
        broker.fetched[0].done([failed(RuntimeError("secret"))])
    assert partitions(last(talk, 12))[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert "secret" in caplog.text


def test_an_answer_that_cannot_be_packed_closes_the_connection(
    talk: Conversation, broker: RecordingBroker
) -> None:
    talk.receive(request(12, 0))
    broker.fetched[0].done([found(watermark=1 << 70)])
    assert talk.channel.is_closed
    assert talk.memory.held_bytes == 0
    assert talk.head.meters.unexpected_errors == 1
