"""ListGroups: the groups that this node coordinates, by state and type."""

from __future__ import annotations

from typing import Final

from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse


async def handle(context: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse:
    found = context.broker.groups.list_groups(request.states_filter, request.types_filter)
    return ListGroupsResponse(
        groups=[
            ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state,
                group_type=group.group_type,
            )
            for group in found
        ]
    )


HANDLER: Final = Handler(
    key=16,
    min_version=0,
    max_version=5,
    handle=handle,
    remarks="All groups are of the type classic.",
)
