"""LeaveGroup: a consumer leaves, or a tool removes members, static ones by their instance id."""

from __future__ import annotations

from typing import Final

from mainstem.core.errors import UnknownMemberId
from mainstem.core.groups.requests import LeaveResult, LeavingMember
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse

FIRST_WITH_SEVERAL_MEMBERS: Final = 3


async def handle(context: RequestContext, request: LeaveGroupRequest) -> LeaveGroupResponse:
    leaving = _leaving(context.version, request)
    try:
        results = await context.broker.groups.leave(request.group_id, leaving)
    except UnknownMemberId as error:  # of a group that does not exist nobody is a member
        results = [LeaveResult(member.member_id, member.instance_id, error) for member in leaving]
    except MainstemError as error:
        return LeaveGroupResponse(error_code=error_code(error))
    if context.version < FIRST_WITH_SEVERAL_MEMBERS:
        return LeaveGroupResponse(error_code=_code(results[0]))
    return LeaveGroupResponse(
        members=[
            MemberResponse(
                member_id=result.member_id, group_instance_id=result.instance_id, error_code=_code(result)
            )
            for result in results
        ]
    )


def _leaving(version: int, request: LeaveGroupRequest) -> list[LeavingMember]:
    if version < FIRST_WITH_SEVERAL_MEMBERS:
        return [LeavingMember(request.member_id)]
    return [
        LeavingMember(member.member_id, member.group_instance_id, member.reason) for member in request.members
    ]


def _code(result: LeaveResult) -> ErrorCode:
    return ErrorCode.NONE if result.error is None else error_code(result.error)


HANDLER: Final = Handler(key=13, min_version=0, max_version=5, handle=handle)
