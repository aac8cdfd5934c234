"""What holds for every cold API in every version that it advertises.

A peer reads requests from frames and answers in frames, so each answer here was encoded and decoded.
"""

from __future__ import annotations

from typing import Any

from tests.support.kafka_node import KafkaNode

from mainstem.heads.kafka.api_list import COLD_APIS
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.cold_exchange import top_level_refusal
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.apis import APIS, request_class, response_class
from mainstem.wire.kafka.codec import decode, encode
from mainstem.wire.kafka.message import Field, Message, version_range

EACH_VERSION = [
    (api, version) for api in COLD_APIS for version in range(api.min_version, api.max_version + 1)
]


def named(api: Handler, version: int) -> str:
    return f"{APIS[api.key].name} v{version}"


def with_one_of_everything(of: type[Message], version: int) -> Message:
    """A message with one element in each array; names and numbers mean nothing to the broker."""
    values: dict[str, Any] = {}
    for field in of.SCHEMA.fields:
        low, high = version_range(field.versions)
        if low <= version <= high:
            values[field.name] = _value(field, version)
    return of(**values)


def _value(field: Field, version: int) -> Any:
    is_array = field.kind.startswith("[]")
    match field.kind.removeprefix("[]"):
        case "struct":
            assert field.of is not None
            one: Any = with_one_of_everything(field.of, version)
        case "string":
            one = "x"
        case "bytes":
            one = b"x"
        case "bool":
            one = True
        case "uuid":
            one = b"0123456789abcdef"
        case _:
            one = 10_000 if field.name.endswith("timeout_ms") else 1
    return [one] if is_array else one


async def test_the_least_request_is_answered_in_every_version(node: KafkaNode) -> None:
    for api, version in EACH_VERSION:
        peer = node.peer()
        answer = await peer.send(request_class(api.key)(), version)
        assert type(answer) is response_class(api.key), named(api, version)
        assert not peer.channel.is_closed, named(api, version)
    assert node.head.meters.unexpected_errors == 0


async def test_a_request_about_what_is_not_there_is_answered_in_every_version(node: KafkaNode) -> None:
    for api, version in EACH_VERSION:
        peer = node.peer()
        answer = await peer.send(with_one_of_everything(request_class(api.key), version), version)
        assert type(answer) is response_class(api.key), named(api, version)
        assert not peer.channel.is_closed, named(api, version)
    assert node.head.meters.unexpected_errors == 0


def test_every_api_can_say_that_it_failed() -> None:
    for api, version in EACH_VERSION:
        request = with_one_of_everything(request_class(api.key), version)
        code, message = ErrorCode.UNKNOWN_SERVER_ERROR, "the message"
        if api.refuse is not None:
            response: Message | None = api.refuse(request, code, message)
        else:
            response = top_level_refusal(api.key, version, code, message)
        assert response is not None, named(api, version)
        data = encode(response, version)
        decoded, end = decode(type(response), version, data)
        assert end == len(data)
        assert _error_codes(decoded) >= {code}, named(api, version)


def _error_codes(message: Message) -> set[int]:
    found: set[int] = set()
    for field in message.SCHEMA.fields:
        value = getattr(message, field.name)
        if field.name in ("error_code", "partition_error_code"):
            found.add(value)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, Message):
                found |= _error_codes(each)
    return found
