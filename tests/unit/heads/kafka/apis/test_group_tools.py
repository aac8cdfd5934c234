"""DescribeGroups, ListGroups and DeleteGroups."""

from __future__ import annotations

import pytest
from tests.support.kafka_node import KafkaNode, Peer

from mainstem.core.coordinator.partition_shard_log import PartitionShardLog
from mainstem.core.groups.requests import CommitRequest, OffsetToCommit
from mainstem.heads.kafka.authorized_operations import GROUP_OPERATIONS, OPERATIONS_NOT_ASKED_FOR
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.wire.kafka.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from mainstem.wire.kafka.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from mainstem.wire.kafka.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from mainstem.wire.kafka.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from mainstem.wire.kafka.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)


@pytest.fixture
async def member_id(node: KafkaNode, peer: Peer) -> str:
    """Of the only member of the stable group "busy"; "idle" has an offset and no members."""
    request = JoinGroupRequest(
        group_id="busy",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        group_instance_id="i",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"what it reads")],
    )
    joining = peer.send(request, 5)
    await node.clock.elapse(1)
    member = await joining
    assert isinstance(member, JoinGroupResponse)
    assignment = SyncGroupRequestAssignment(member_id=member.member_id, assignment=b"what it gets")
    await peer.ask(
        SyncGroupRequest(
            group_id="busy", generation_id=1, member_id=member.member_id, assignments=[assignment]
        ),
        SyncGroupResponse,
        3,
    )
    await node.groups.commit_offsets(CommitRequest(group_id="idle", offsets=[OffsetToCommit("t", 0, 1)]))
    return member.member_id


@pytest.mark.parametrize("version", range(7))
async def test_a_group_is_described(peer: Peer, member_id: str, version: int) -> None:
    request = DescribeGroupsRequest(groups=["busy", "idle"], include_authorized_operations=version >= 3)
    busy, idle = (await peer.ask(request, DescribeGroupsResponse, version)).groups
    assert (busy.error_code, busy.group_id, busy.group_state) == (0, "busy", "Stable")
    assert (busy.protocol_type, busy.protocol_data) == ("consumer", "range")
    assert [
        (m.member_id, m.group_instance_id, m.client_id, m.member_metadata, m.member_assignment)
        for m in busy.members
    ] == [(member_id, "i" if version >= 4 else None, "test", b"what it reads", b"what it gets")]
    assert (idle.error_code, idle.group_state, idle.protocol_type, idle.members) == (0, "Empty", "", [])
    asked_for = GROUP_OPERATIONS if version >= 3 else OPERATIONS_NOT_ASKED_FOR
    assert busy.authorized_operations == idle.authorized_operations == asked_for


@pytest.mark.usefixtures("member_id")
async def test_operations_are_told_only_to_those_who_ask(peer: Peer) -> None:
    (group,) = (await peer.ask(DescribeGroupsRequest(groups=["busy"]), DescribeGroupsResponse, 6)).groups
    assert group.authorized_operations == OPERATIONS_NOT_ASKED_FOR


async def test_a_group_that_does_not_exist_is_dead_and_from_version_6_on_an_error(peer: Peer) -> None:
    request = DescribeGroupsRequest(groups=["none", ""], include_authorized_operations=True)
    none, empty = (await peer.ask(request, DescribeGroupsResponse, 5)).groups
    assert (none.error_code, none.group_state, none.error_message) == (0, "Dead", None)
    assert empty.error_code == ErrorCode.INVALID_GROUP_ID
    none, empty = (await peer.ask(request, DescribeGroupsResponse, 6)).groups
    assert (none.error_code, none.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert none.error_message == "there is no group none"
    assert none.authorized_operations == OPERATIONS_NOT_ASKED_FOR
    assert empty.error_message


@pytest.mark.usefixtures("member_id")
async def test_groups_are_listed(peer: Peer) -> None:
    async def listed(version: int, **filters: list[str]) -> list[tuple[str, str, str, str]]:
        answer = await peer.ask(ListGroupsRequest(**filters), ListGroupsResponse, version)
        assert answer.error_code == 0
        return sorted((g.group_id, g.protocol_type, g.group_state, g.group_type) for g in answer.groups)

    assert await listed(0) == await listed(3) == [("busy", "consumer", "", ""), ("idle", "", "", "")]
    assert await listed(4) == [("busy", "consumer", "Stable", ""), ("idle", "", "Empty", "")]
    assert await listed(5) == [("busy", "consumer", "Stable", "classic"), ("idle", "", "Empty", "classic")]
    assert [name for name, *_ in await listed(4, states_filter=["stable", "Dead"])] == ["busy"]
    assert [name for name, *_ in await listed(5, types_filter=["Classic"])] == ["busy", "idle"]
    assert await listed(5, types_filter=["consumer"]) == []


async def test_groups_are_not_listed_while_they_load(node: KafkaNode, peer: Peer) -> None:
    log = PartitionShardLog(node.broker.partition("__consumer_offsets", 0))
    node.groups.on_resigned(0, 1)
    node.groups.on_leader(0, 2, log)
    answer = await peer.ask(ListGroupsRequest(), ListGroupsResponse, 5)
    assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    await node.groups.loaded()
    assert (await peer.ask(ListGroupsRequest(), ListGroupsResponse, 5)).error_code == 0


@pytest.mark.usefixtures("member_id")
@pytest.mark.parametrize("version", range(3))
async def test_groups_are_deleted(node: KafkaNode, peer: Peer, version: int) -> None:
    request = DeleteGroupsRequest(groups_names=["busy", "idle", "none", "idle"])
    answer = await peer.ask(request, DeleteGroupsResponse, version)
    assert len(answer.results) == 3
    assert {result.group_id: result.error_code for result in answer.results} == {
        "busy": ErrorCode.NON_EMPTY_GROUP,
        "idle": 0,
        "none": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert [group.group_id for group in node.groups.list_groups()] == ["busy"]
