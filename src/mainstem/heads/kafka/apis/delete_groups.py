"""DeleteGroups: forgets groups without members, and their offsets."""

from __future__ import annotations

from typing import Final

from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


async def handle(context: RequestContext, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    outcomes = await context.broker.groups.delete_groups(list(dict.fromkeys(request.groups_names)))
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(
                group_id=group_id, error_code=ErrorCode.NONE if error is None else error_code(error)
            )
            for group_id, error in outcomes.items()
        ]
    )


def refuse(request: DeleteGroupsRequest, code: ErrorCode, message: str) -> DeleteGroupsResponse:  # noqa: ARG001
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=group_id, error_code=code) for group_id in request.groups_names
        ]
    )


HANDLER: Final = Handler(key=42, min_version=0, max_version=2, handle=handle, refuse=refuse)
