"""/v1/groups: consumer groups, their members, and how far behind they are."""

from __future__ import annotations

from typing import Final

import msgspec

from mainstem.admin.errors import BAD_REQUEST, CONFLICT, NOT_FOUND, UNAVAILABLE
from mainstem.admin.metrics.groups import lag_behind
from mainstem.admin.node import Node
from mainstem.admin.operations import NO_CONTENT, OK, Answer, Call, Operation, Parameter
from mainstem.core.errors import GroupIdNotFound
from mainstem.core.groups.requests import FetchedOffset, MemberDescription
from mainstem.core.groups.subscription import CONSUMER_PROTOCOL_TYPE
from mainstem.wire.errors import WireError
from mainstem.wire.kafka.codec import decode
from mainstem.wire.kafka.records.consumer_protocol_assignment import ConsumerProtocolAssignment

_LIMIT: Final = Parameter("limit", "How many to list, 1 to 10000.", minimum=1, maximum=10_000, default="1000")
_AFTER: Final = Parameter("after", "List those whose ids come after this one.")
_GROUP: Final = Parameter("group_id", "The group.", place="path")


class GroupSummary(msgspec.Struct, frozen=True):
    group_id: str
    state: str
    protocol_type: str
    group_type: str


class GroupList(msgspec.Struct, frozen=True):
    groups: list[GroupSummary]
    total_count: int
    next_after: str | None  # there are more: ask with `after`


class AssignedTopic(msgspec.Struct, frozen=True):
    topic: str
    partitions: list[int]


class Member(msgspec.Struct, frozen=True):
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    assignment: list[AssignedTopic] | None  # None: not of a kind that the broker can read


class GroupOffset(msgspec.Struct, frozen=True):
    topic: str
    partition: int
    committed_offset: int
    high_watermark: int | None  # None where another node leads the partition or nobody does
    lag: int | None
    metadata: str


class GroupDetail(msgspec.Struct, frozen=True):
    group_id: str
    state: str
    protocol_type: str
    protocol: str
    members: list[Member]
    offsets: list[GroupOffset]
    total_lag: int


async def list_groups(call: Call) -> Answer:
    limit, after = call.number(_LIMIT), call.query.get("after", "")
    found = sorted(call.node.broker.groups.list_groups(), key=lambda group: group.group_id)
    following = [group for group in found if group.group_id > after]
    listed = [
        GroupSummary(group.group_id, group.state, group.protocol_type, group.group_type)
        for group in following[:limit]
    ]
    next_after = listed[-1].group_id if len(following) > limit else None
    return Answer(GroupList(listed, len(found), next_after))


async def describe_group(call: Call) -> Answer:
    group_id, groups = call.path["group_id"], call.node.broker.groups
    described = await groups.describe(group_id)
    if not described.exists:
        raise GroupIdNotFound(f"there is no group {group_id!r}")
    offsets = [_offset(call.node, each) for each in await groups.fetch_offsets(group_id)]
    offsets.sort(key=lambda each: (each.topic, each.partition))
    is_consumer = described.protocol_type == CONSUMER_PROTOCOL_TYPE
    return Answer(
        GroupDetail(
            described.group_id,
            described.state,
            described.protocol_type,
            described.protocol,
            [_member(each, is_consumer) for each in described.members],
            offsets,
            sum(each.lag or 0 for each in offsets),
        )
    )


def _member(member: MemberDescription, is_consumer: bool) -> Member:
    assignment = _assigned(member.assignment) if is_consumer else None
    return Member(member.member_id, member.instance_id, member.client_id, member.client_host, assignment)


def _assigned(assignment: bytes) -> list[AssignedTopic] | None:
    """Every version begins as version 0 does: with the partitions."""
    try:
        if len(assignment) < 2:
            return []
        message, _ = decode(ConsumerProtocolAssignment, 0, assignment, 2)
    except WireError:
        return None
    assigned = [AssignedTopic(each.topic, sorted(each.partitions)) for each in message.assigned_partitions]
    return sorted(assigned, key=lambda each: each.topic)


def _offset(node: Node, fetched: FetchedOffset) -> GroupOffset:
    partition = node.broker.replicas.partitions.get((fetched.topic, fetched.partition))
    high_watermark = lag = None
    if partition is not None:
        high_watermark = partition.high_watermark
        lag = lag_behind(fetched.offset, partition.log_start_offset, high_watermark)
    return GroupOffset(
        fetched.topic, fetched.partition, fetched.offset, high_watermark, lag, fetched.metadata
    )


async def delete_group(call: Call) -> Answer:
    group_id = call.path["group_id"]
    error = (await call.node.broker.groups.delete_groups([group_id]))[group_id]
    if error is not None:
        raise error
    return Answer(None, NO_CONTENT)


OPERATIONS: Final = (
    Operation(
        "GET",
        "/v1/groups",
        "List the groups that this node coordinates",
        list_groups,
        {OK: GroupList},
        parameters=(_LIMIT, _AFTER),
        errors=(BAD_REQUEST, UNAVAILABLE),
        tag="groups",
    ),
    Operation(
        "GET",
        "/v1/groups/{group_id:path}",
        "Describe a group: members, committed offsets, lag",
        describe_group,
        {OK: GroupDetail},
        parameters=(_GROUP,),
        errors=(NOT_FOUND, UNAVAILABLE),
        tag="groups",
    ),
    Operation(
        "DELETE",
        "/v1/groups/{group_id:path}",
        "Delete a group without members, and its offsets",
        delete_group,
        {NO_CONTENT: None},
        parameters=(_GROUP,),
        errors=(NOT_FOUND, CONFLICT, UNAVAILABLE),
        tag="groups",
    ),
)
