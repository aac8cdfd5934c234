"""What a check is, and the two kinds that most APIs need.

A check stands in front of a handler, where access rules are kept to; a broker without them calls handlers
directly. It splits a request as Kafka does: what the client may do goes on to the handler, what it may not
is answered in the response of the API, with the error that Kafka has for the type of the resource. The
handler never sees what was refused, and so cannot say whether it exists.

    whole      the request needs all of some permissions; where one is missing, it is refused as a whole
    each       each item of a list needs a permission of its own; those without it are refused beside the
               answers of the others

The refusals are made by the handler's own `refuse`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from mainstem.core.identity.acl import CLUSTER_NAME, Operation, ResourceType
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.cold_exchange import top_level_refusal
from mainstem.heads.kafka.config_resources import ResourceType as ConfigType
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import PeerError
from mainstem.wire.kafka.message import Message


class AuthorizationFailed(PeerError):
    pass


Run = Callable[[RequestContext, Any, Handler], Coroutine[Any, Any, Message]]


class Check(NamedTuple):
    """A line of the table."""

    asks: str  # in words, for docs/authorization.md
    run: Run | None = None  # none: the API asks for nothing, or its exchange checks by itself


class Asked(NamedTuple):
    """A permission that is needed."""

    operation: Operation
    type: ResourceType
    name: str


Need = Callable[[RequestContext, Any], Asked | None]  # of a request, or of an item; None: nothing

DENIED: Final[dict[ResourceType, tuple[ErrorCode, str]]] = {
    ResourceType.TOPIC: (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed."),
    ResourceType.GROUP: (ErrorCode.GROUP_AUTHORIZATION_FAILED, "Group authorization failed."),
    ResourceType.CLUSTER: (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."),
    ResourceType.TRANSACTIONAL_ID: (
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        "Transactional Id authorization failed.",
    ),
}


_OF_OPTIONS: Final = {
    int(ConfigType.TOPIC): ResourceType.TOPIC,
    int(ConfigType.GROUP): ResourceType.GROUP,
}


def may(context: RequestContext, asked: Asked | None) -> bool:
    return asked is None or context.may(asked.operation, asked.type, asked.name)


# --- what is needed


def on_cluster(operation: Operation) -> Need:
    asked = Asked(operation, ResourceType.CLUSTER, CLUSTER_NAME)
    return lambda context, request: asked  # noqa: ARG005


def on_topic(operation: Operation, field: str = "name") -> Need:
    return lambda context, item: Asked(operation, ResourceType.TOPIC, getattr(item, field))  # noqa: ARG005


def on_group(operation: Operation, field: str = "group_id") -> Need:
    return lambda context, item: Asked(operation, ResourceType.GROUP, getattr(item, field))  # noqa: ARG005


def on_transactional_id(operation: Operation, field: str = "transactional_id") -> Need:
    kind = ResourceType.TRANSACTIONAL_ID
    return lambda context, item: Asked(operation, kind, getattr(item, field))  # noqa: ARG005


def named(operation: Operation, resource_type: ResourceType) -> Need:
    """Of an item that is a name and nothing else."""
    return lambda context, item: Asked(operation, resource_type, item)  # noqa: ARG005


def on_options(operation: Operation) -> Need:
    """Those of a topic or a group are asked of it, those of all else of the cluster."""

    def need(_: RequestContext, resource: Any) -> Asked:
        kind = _OF_OPTIONS.get(resource.resource_type)
        if kind is None:
            return Asked(operation, ResourceType.CLUSTER, CLUSTER_NAME)
        return Asked(operation, kind, resource.resource_name)

    return need


# --- checks


def whole(*needs: Need) -> Run:
    async def run(context: RequestContext, request: Any, handler: Handler) -> Message:
        refused = refused_whole(context, request, handler, needs)
        return refused if refused is not None else await handler.handle(context, request)

    return run


def each(field: str, need: Need, answers: str, *needs: Need) -> Run:
    """The items of the request's list `field`, answered in the response's list `answers`.

    `needs` are those of the whole request, which come first.
    """

    async def run(context: RequestContext, request: Any, handler: Handler) -> Message:
        refused = refused_whole(context, request, handler, needs)
        if refused is not None:
            return refused
        items = getattr(request, field)
        allowed, denied = split(context, items, need)
        if not denied:
            return await handler.handle(context, request)
        response: Message | None = None
        if allowed:
            response = await handler.handle(context, msgspec.structs.replace(request, **{field: allowed}))
        for code_and_message, part in denied.items():
            answer = refusal(
                handler, context.version, msgspec.structs.replace(request, **{field: part}), *code_and_message
            )
            if response is None:
                response = answer
            else:
                setattr(response, answers, [*getattr(response, answers), *getattr(answer, answers)])
        assert response is not None, "something was denied"
        return response

    return run


def refused_whole(
    context: RequestContext, request: Message, handler: Handler, needs: Sequence[Need]
) -> Message | None:
    for need in needs:
        asked = need(context, request)
        if not may(context, asked):
            assert asked is not None, "who needs nothing may"
            return refusal(handler, context.version, request, *DENIED[asked.type])
    return None


def split(
    context: RequestContext, items: Sequence[Any], need: Need
) -> tuple[list[Any], dict[tuple[ErrorCode, str], list[Any]]]:
    """The items that may go on, and the others by what they are told."""
    allowed: list[Any] = []
    denied: dict[tuple[ErrorCode, str], list[Any]] = {}
    for item in items:
        asked = need(context, item)
        if asked is None or may(context, asked):
            allowed.append(item)
        else:
            denied.setdefault(DENIED[asked.type], []).append(item)
    return allowed, denied


def refusal(handler: Handler, version: int, request: Message, code: ErrorCode, message: str) -> Message:
    """The response of the API that refuses all of the request."""
    if handler.refuse is not None:
        return handler.refuse(request, code, message)
    response = top_level_refusal(handler.key, version, code, message)
    if response is None:
        raise AuthorizationFailed(message)  # its response has no place for an error: the connection closes
    return response
