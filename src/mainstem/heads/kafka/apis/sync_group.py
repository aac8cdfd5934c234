"""SyncGroup: the members of a new generation get what they are to read; the leader brings it.

The answer waits for the leader's assignment, and for the log to have it.
"""

from __future__ import annotations

from typing import Final

from mainstem.core.errors import InconsistentGroupProtocol
from mainstem.core.groups.requests import SyncRequest
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.sync_group import SyncGroupRequest, SyncGroupResponse

FIRST_THAT_NAMES_THE_PROTOCOL: Final = 5


async def handle(context: RequestContext, request: SyncGroupRequest) -> SyncGroupResponse:
    try:
        if context.version >= FIRST_THAT_NAMES_THE_PROTOCOL and (
            request.protocol_type is None or request.protocol_name is None
        ):
            raise InconsistentGroupProtocol("the request must name the protocol and its type")
        result = await context.broker.groups.sync(
            SyncRequest(
                group_id=request.group_id,
                member_id=request.member_id,
                generation=request.generation_id,
                instance_id=request.group_instance_id,
                protocol_type=request.protocol_type,
                protocol=request.protocol_name,
                assignments=[(each.member_id, each.assignment) for each in request.assignments],
            )
        )
    except MainstemError as error:
        return SyncGroupResponse(error_code=error_code(error))
    return SyncGroupResponse(
        protocol_type=result.protocol_type, protocol_name=result.protocol, assignment=result.assignment
    )


HANDLER: Final = Handler(key=14, min_version=0, max_version=5, handle=handle, is_long_poll=True)
