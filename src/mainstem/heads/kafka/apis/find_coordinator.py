"""FindCoordinator: which node coordinates a group or a transactional id.

The first one to ask brings the internal topic into being. Share groups have no coordinator here yet: their
clients are refused with an error that they take as final, rather than with one that they would retry.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from mainstem.core.broker import Broker
from mainstem.core.groups.offsets_topic import ensure_offsets_topic
from mainstem.core.image import TopicImage
from mainstem.core.transactions.state_topic import ensure_transactions_topic
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.endpoints import NodeAddress, node_address
from mainstem.heads.kafka.errors import error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

GROUP: Final = 0
TRANSACTION: Final = 1
SHARE: Final = 2
FIRST_WITH_MANY_KEYS: Final = 4
FIRST_WITH_SHARE: Final = 6
_NOBODY: Final = -1


async def handle(context: RequestContext, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    has_many = context.version >= FIRST_WITH_MANY_KEYS
    keys = request.coordinator_keys if has_many else [request.key]
    broker = context.broker
    if request.key_type == GROUP:
        coordinators = await _on(context, keys, ensure_offsets_topic, broker.groups.partition_for)
    elif request.key_type == TRANSACTION:
        coordinators = await _on(context, keys, ensure_transactions_topic, broker.transactions.partition_for)
    else:
        known = request.key_type == SHARE and context.version >= FIRST_WITH_SHARE
        message = (
            "this broker does not serve share groups yet"
            if known
            else f"there are no coordinators of type {request.key_type}"
        )
        coordinators = [_refused(key, ErrorCode.INVALID_REQUEST, message) for key in keys]
    return FindCoordinatorResponse(coordinators=coordinators) if has_many else _single(coordinators[0])


async def _on(
    context: RequestContext,
    keys: Sequence[str],
    ensure_topic: Callable[[Broker], Awaitable[TopicImage]],
    partition_for: Callable[[str], int],
) -> list[Coordinator]:
    """Who leads the partition of the internal topic that each key belongs to."""
    broker = context.broker
    try:
        topic = await ensure_topic(broker)
    except MainstemError as error:
        # Clients ask again after this code and no other; the message has the cause.
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        return [_refused(key, code, error_message(error)) for key in keys]
    coordinators = []
    brokers = broker.image.brokers
    for key in keys:
        leader = brokers.get(topic.partitions[partition_for(key)].leader)
        if leader is None:
            code = ErrorCode.COORDINATOR_NOT_AVAILABLE
            coordinators.append(_refused(key, code, f"nobody leads the partition of {key}"))
        else:
            coordinators.append(_found(key, node_address(leader, context.listener)))
    return coordinators


def _found(key: str, node: NodeAddress) -> Coordinator:
    return Coordinator(key=key, node_id=node.node_id, host=node.host, port=node.port, error_message=None)


def _refused(key: str, code: ErrorCode, message: str) -> Coordinator:
    return Coordinator(key=key, node_id=_NOBODY, port=_NOBODY, error_code=code, error_message=message)


def _single(one: Coordinator) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=one.error_message,
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )


def refuse(request: FindCoordinatorRequest, code: ErrorCode, message: str) -> FindCoordinatorResponse:
    if request.coordinator_keys:  # from version 4 on there is no place but theirs
        return FindCoordinatorResponse(
            coordinators=[_refused(key, code, message) for key in request.coordinator_keys]
        )
    return FindCoordinatorResponse(error_code=code, error_message=message, node_id=_NOBODY, port=_NOBODY)


HANDLER: Final = Handler(
    key=10,
    min_version=0,
    max_version=6,
    handle=handle,
    refuse=refuse,
    remarks="Share groups, which are not here yet, have no coordinator.",
)
