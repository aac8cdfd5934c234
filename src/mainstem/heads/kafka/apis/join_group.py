"""JoinGroup: a consumer becomes a member, or stays one in the group's next generation.

The answer waits until the generation is formed. A client that goes away meanwhile stays a member until its
session ends, as it may come back under the id that it knows.
"""

from __future__ import annotations

from typing import Final

from mainstem.core.errors import MemberIdRequired
from mainstem.core.groups.requests import JoinProtocol, JoinRequest, JoinResult
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)

FIRST_WITH_REBALANCE_TIMEOUT: Final = 1
FIRST_WITH_MEMBER_ID_REQUIRED: Final = 4
FIRST_WITH_NULLABLE_PROTOCOL: Final = 7
FIRST_WITH_SKIP_ASSIGNMENT: Final = 9


async def handle(context: RequestContext, request: JoinGroupRequest) -> JoinGroupResponse:
    try:
        result = await context.broker.groups.join(_asked(context, request))
    except MemberIdRequired as error:
        return _refused(error, error.member_id, context.version)
    except MainstemError as error:
        return _refused(error, request.member_id, context.version)
    return _joined(result, context.version)


def _asked(context: RequestContext, request: JoinGroupRequest) -> JoinRequest:
    has_rebalance_timeout = context.version >= FIRST_WITH_REBALANCE_TIMEOUT
    return JoinRequest(
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        client_id=context.client_id or "",
        client_host=f"/{context.client_host}",  # as Java writes an address, and Kafka's tools show it
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=(
            request.rebalance_timeout_ms if has_rebalance_timeout else request.session_timeout_ms
        ),
        protocol_type=request.protocol_type,
        protocols=tuple([JoinProtocol(protocol.name, protocol.metadata) for protocol in request.protocols]),
        needs_member_id=context.version >= FIRST_WITH_MEMBER_ID_REQUIRED,
        can_skip_assignment=context.version >= FIRST_WITH_SKIP_ASSIGNMENT,
        reason=request.reason,
    )


def _joined(result: JoinResult, version: int) -> JoinGroupResponse:
    return JoinGroupResponse(
        generation_id=result.generation,
        protocol_type=result.protocol_type,
        protocol_name=result.protocol or _no_protocol(version),
        leader=result.leader_id or "",
        skip_assignment=result.skip_assignment,
        member_id=result.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=member.member_id, group_instance_id=member.instance_id, metadata=member.metadata
            )
            for member in result.members
        ],
    )


def _refused(error: MainstemError, member_id: str, version: int) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=error_code(error), protocol_name=_no_protocol(version), member_id=member_id
    )


def _no_protocol(version: int) -> str | None:
    return None if version >= FIRST_WITH_NULLABLE_PROTOCOL else ""


HANDLER: Final = Handler(
    key=11,
    min_version=0,
    max_version=9,
    handle=handle,
    is_long_poll=True,
    remarks=(
        "A group has 10,000 member ids at most that were given out and not used yet; Kafka has no such bound."
    ),
)
