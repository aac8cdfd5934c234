"""Cold APIs from frame to frame: at once, later, failed, cancelled."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.unit.heads.kafka.conversation import Conversation, EchoHead

from mainstem.core.errors import BrokerNotAvailable, InvalidRequest
from mainstem.core.identity.principal import Principal
from mainstem.heads.kafka import cold_exchange
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.cold_exchange import ColdExchange
from mainstem.heads.kafka.context import Api, RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.heads.kafka.meters import ApiMeter
from mainstem.wire.kafka.apis import APIS
from mainstem.wire.kafka.frames import decode_response, encode_request
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from mainstem.wire.kafka.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from mainstem.wire.kafka.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

HEARTBEAT, DELETE_TOPICS, ELECT_LEADERS = 12, 20, 43

Work = Callable[[RequestContext, Any], Awaitable[Message]]


def conversation(work: Work, key: int = HEARTBEAT, **options: Any) -> Conversation:
    async def handle(context: RequestContext, request: Message) -> Message:
        return await work(context, request)

    schema = APIS[key]
    handler = Handler(key, schema.min_version, schema.max_version, handle, **options)
    head: Any = EchoHead()
    head.apis[key] = Api(
        key,
        handler.min_version,
        handler.max_version,
        schema.flexible_from,
        ColdExchange,
        ApiMeter(),
        handler,
    )
    return Conversation(head)


def ask(talk: Conversation, number: int = 7, version: int = 4) -> None:
    request = HeartbeatRequest(group_id="g", generation_id=3)
    talk.receive(encode_request(HEARTBEAT, version, number, "me", request))


def answers(talk: Conversation, version: int = 4, key: int = HEARTBEAT) -> list[tuple[int, Any]]:
    return [decode_response(key, version, data[4:]) for data in talk.sent]


async def turns(count: int = 4) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_handler_is_told_whom_the_connection_speaks_for() -> None:
    seen: list[Principal] = []

    async def work(context: RequestContext, request: Any) -> Message:  # noqa: ARG001
        seen.append(context.principal)
        return HeartbeatResponse()

    talk = conversation(work)
    ask(talk)
    talk.session.principal = Principal("User", "alice")
    ask(talk, number=8)
    assert [str(principal) for principal in seen] == ["User:ANONYMOUS", "User:alice"]


async def test_a_handler_that_never_waits_answers_at_once() -> None:
    seen: list[Any] = []

    async def work(context: RequestContext, request: Any) -> Message:
        seen.append((context, request))
        return HeartbeatResponse(error_code=5)

    talk = conversation(work)
    ask(talk)
    [(number, response)] = answers(talk)
    assert (number, response.error_code) == (7, 5)
    [(context, request)] = seen
    assert (context.version, context.client_id, context.client_host) == (4, "me", "192.0.2.1")
    assert (context.listener, context.correlation_id) == ("kafka", 7)
    assert context.broker is talk.head.broker
    assert (request.group_id, request.generation_id) == ("g", 3)


async def test_a_handler_that_waits_answers_later_and_in_order() -> None:
    waits: list[asyncio.Future[Message]] = []

    async def work(*_: Any) -> Message:
        waits.append(asyncio.get_running_loop().create_future())
        return await waits[-1]

    talk = conversation(work)
    ask(talk, 1)
    ask(talk, 2)
    await turns()
    waits[1].set_result(HeartbeatResponse(error_code=2))
    await turns()
    assert talk.sent == []
    waits[0].set_result(HeartbeatResponse(error_code=1))
    await turns()
    assert [(number, response.error_code) for number, response in answers(talk)] == [(1, 1), (2, 2)]


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize(
    ("error", "code", "level"),
    [
        (InvalidRequest("mind the gap"), ErrorCode.INVALID_REQUEST, logging.DEBUG),
        (BrokerNotAvailable("gone"), ErrorCode.BROKER_NOT_AVAILABLE, logging.WARNING),
        (RuntimeError("secret"), ErrorCode.UNKNOWN_SERVER_ERROR, logging.ERROR),
    ],
)
async def test_an_error_becomes_the_apis_own_form(
    error: Exception, code: ErrorCode, level: int, is_late: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(*_: Any) -> Message:
        if is_late:
            await asyncio.sleep(0)
        raise error

    talk = conversation(work)
    with caplog.at_level(logging.DEBUG, cold_exchange.__name__):
        ask(talk)
        await turns()
    [(_, response)] = answers(talk)
    assert response.error_code == code
    assert not talk.channel.is_closed
    assert [record.levelno for record in caplog.records] == [level]
    assert talk.head.apis[HEARTBEAT].meter.errors == 1
    assert talk.head.meters.unexpected_errors == (level == logging.ERROR)


async def test_an_api_may_have_a_form_of_its_own_for_errors() -> None:
    async def work(*_: Any) -> Message:
        raise RuntimeError("secret")

    def refuse(request: DeleteTopicsRequest, code: ErrorCode, message: str) -> DeleteTopicsResponse:
        names = request.topic_names
        results = [DeletableTopicResult(name=n, error_code=code, error_message=message) for n in names]
        return DeleteTopicsResponse(responses=results)

    talk = conversation(work, DELETE_TOPICS, refuse=refuse)
    request = DeleteTopicsRequest(topic_names=["a", "b"])
    talk.receive(encode_request(DELETE_TOPICS, 5, 1, None, request))
    [(_, response)] = answers(talk, 5, DELETE_TOPICS)
    assert [(one.name, one.error_code) for one in response.responses] == [("a", -1), ("b", -1)]
    assert all("secret" not in one.error_message for one in response.responses)


@pytest.mark.parametrize("is_bad_refusal", [False, True])
async def test_an_error_without_a_place_closes_the_connection(is_bad_refusal: bool) -> None:
    async def work(*_: Any) -> Message:
        raise InvalidRequest("no place for this")

    def refuse(*_: Any) -> Message:
        raise RuntimeError("nor for this")

    talk = conversation(work, DELETE_TOPICS, refuse=refuse if is_bad_refusal else None)
    talk.receive(encode_request(DELETE_TOPICS, 5, 1, None, DeleteTopicsRequest(topic_names=["a"])))
    assert talk.sent == []
    assert talk.channel.is_closed
    assert talk.memory.held_bytes == 0


async def test_an_error_that_a_version_cannot_say_is_no_fault_of_ours(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As with ElectLeaders v0, whose answer has room for the errors of partitions and for none of all."""

    async def work(context: RequestContext, request: Any) -> Message:  # noqa: ARG001
        raise InvalidRequest("no")

    def refuse(_request: Any, code: ErrorCode, _message: str) -> Message:
        return ElectLeadersResponse(error_code=code)

    talk = conversation(work, ELECT_LEADERS, refuse=refuse)
    request = ElectLeadersRequest(topic_partitions=None)
    talk.receive(encode_request(ELECT_LEADERS, 0, 7, "me", request))
    assert talk.channel.is_closed
    assert talk.sent == []
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_a_response_that_cannot_be_encoded_is_an_error() -> None:
    async def work(*_: Any) -> Message:
        return HeartbeatResponse(error_code=1 << 40)

    talk = conversation(work)
    ask(talk)
    [(_, response)] = answers(talk)
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("turns_before", [0, 1, 3])
async def test_when_the_connection_goes_the_handler_is_cancelled(turns_before: int) -> None:
    waiting: asyncio.Future[Message] = asyncio.get_running_loop().create_future()

    async def work(*_: Any) -> Message:
        return await waiting

    talk = conversation(work)
    ask(talk)
    await turns(turns_before)
    assert talk.session.is_busy
    talk.session.closed()
    await turns()
    assert waiting.cancelled()
    assert not talk.session.is_busy
    assert talk.memory.held_bytes == 0
    assert talk.sent == []


async def test_a_handler_may_say_that_it_is_a_long_poll() -> None:
    async def work(*_: Any) -> Message:
        await asyncio.sleep(60)
        return HeartbeatResponse()

    for is_long_poll in (False, True):
        talk = conversation(work, is_long_poll=is_long_poll)
        ask(talk)
        talk.session.drain()
        assert talk.channel.is_closed is is_long_poll
        talk.session.closed()
    await turns()


async def test_a_request_that_would_fill_memory_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold_exchange, "MAX_BYTES", 30)

    async def work(*_: Any) -> Message:
        return HeartbeatResponse()

    talk = conversation(work)
    ask(talk)
    request = HeartbeatRequest(group_id="g" * 100)
    talk.receive(encode_request(HEARTBEAT, 4, 8, "me", request))
    assert len(talk.sent) == 1
    assert talk.channel.closed_because is not None


async def test_a_body_cut_short_closes_the_connection() -> None:
    async def work(*_: Any) -> Message:
        return HeartbeatResponse()

    talk = conversation(work)
    whole = encode_request(HEARTBEAT, 3, 8, "me", HeartbeatRequest(group_id="group"))
    talk.receive((len(whole) - 8).to_bytes(4, "big") + whole[4:-4])
    assert talk.channel.is_closed
