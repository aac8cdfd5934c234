"""DescribeGroups: state, protocol and members of groups."""

from __future__ import annotations

from typing import Final

from mainstem.core.groups.requests import GroupDescription
from mainstem.core.slices import Slices
from mainstem.heads.kafka.authorized_operations import OPERATIONS_NOT_ASKED_FOR, group_operations
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

FIRST_THAT_KNOWS_NOT_FOUND: Final = 6  # before, a group that does not exist is one that is dead


async def handle(context: RequestContext, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    slices = Slices()
    answers = []
    for group_id in request.groups:
        await slices.pause()
        try:
            description = await context.broker.groups.describe(group_id)
        except MainstemError as error:
            answers.append(_refused(group_id, error_code(error), error_message(error), context.version))
        else:
            answers.append(_described(description, context.version))
    if request.include_authorized_operations:
        for answer in answers:
            if answer.error_code == ErrorCode.NONE:
                answer.authorized_operations = group_operations(context, answer.group_id)
    return DescribeGroupsResponse(groups=answers)


def _described(group: GroupDescription, version: int) -> DescribedGroup:
    if not group.exists and version >= FIRST_THAT_KNOWS_NOT_FOUND:
        return _refused(
            group.group_id,
            ErrorCode.GROUP_ID_NOT_FOUND,
            f"there is no group {group.group_id}",
            version,
            state=group.state,
        )
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state,
        protocol_type=group.protocol_type,
        protocol_data=group.protocol,
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata,
                member_assignment=member.assignment,
            )
            for member in group.members
        ],
        authorized_operations=OPERATIONS_NOT_ASKED_FOR,
    )


def _refused(group_id: str, code: ErrorCode, message: str, version: int, state: str = "") -> DescribedGroup:
    has_message = version >= FIRST_THAT_KNOWS_NOT_FOUND
    return DescribedGroup(
        error_code=code,
        error_message=message if has_message else None,
        group_id=group_id,
        group_state=state,
    )


def refuse(request: DescribeGroupsRequest, code: ErrorCode, message: str) -> DescribeGroupsResponse:  # noqa: ARG001
    return DescribeGroupsResponse(
        groups=[DescribedGroup(error_code=code, group_id=group_id) for group_id in request.groups]
    )


HANDLER: Final = Handler(
    key=15,
    min_version=0,
    max_version=6,
    handle=handle,
    refuse=refuse,
)
