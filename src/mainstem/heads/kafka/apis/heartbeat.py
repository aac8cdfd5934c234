"""Heartbeat: a member of a group says that it lives, and learns whether the group rebalances."""

from __future__ import annotations

from typing import Final

from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


async def handle(context: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
    # Errors are caught here because they are no news: in a rebalance every member gets one.
    try:
        context.broker.groups.heartbeat(
            request.group_id, request.member_id, request.generation_id, request.group_instance_id
        )
    except MainstemError as error:
        return HeartbeatResponse(error_code=error_code(error))
    return HeartbeatResponse()


HANDLER: Final = Handler(key=12, min_version=0, max_version=4, handle=handle)
