"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup as clients of old and new versions use them."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.kafka_node import KafkaNode, Peer
from tests.support.simulated_clock import settle

from mainstem.heads.kafka.codes import ErrorCode
from mainstem.wire.kafka.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from mainstem.wire.kafka.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from mainstem.wire.kafka.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from mainstem.wire.kafka.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from mainstem.wire.kafka.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)


def join_request(member_id: str = "", **more: object) -> JoinGroupRequest:
    values: dict[str, object] = {
        "group_id": "g",
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": [JoinGroupRequestProtocol(name="range", metadata=b"\0\0")],
        **more,
    }
    return JoinGroupRequest(**values)


async def joined(node: KafkaNode, peer: Peer, version: int, member_id: str = "", **more: object):
    """The member's place in the next generation, its id asked for first where the version has it so."""
    if version >= 4 and not member_id and "group_instance_id" not in more:
        asked = await peer.ask(join_request(**more), JoinGroupResponse, version)
        assert asked.error_code == ErrorCode.MEMBER_ID_REQUIRED
        assert asked.generation_id == -1
        member_id = asked.member_id
    answer = peer.send(join_request(member_id, **more), version)
    await node.clock.elapse(1)
    response = await answer
    assert isinstance(response, JoinGroupResponse)
    assert response.error_code == 0
    return response


async def synced(
    peer: Peer, version: int, member: JoinGroupResponse, assignment: bytes | None = b"a"
) -> SyncGroupResponse:
    return await peer.ask(
        SyncGroupRequest(
            group_id="g",
            generation_id=member.generation_id,
            member_id=member.member_id,
            protocol_type="consumer" if version >= 5 else None,
            protocol_name="range" if version >= 5 else None,
            assignments=[]
            if assignment is None
            else [SyncGroupRequestAssignment(member_id=member.member_id, assignment=assignment)],
        ),
        SyncGroupResponse,
        version,
    )


async def heartbeat(peer: Peer, member: JoinGroupResponse, **more: object) -> int:
    values = {
        "group_id": "g",
        "generation_id": member.generation_id,
        "member_id": member.member_id,
        **more,
    }
    return (await peer.ask(HeartbeatRequest(**values), HeartbeatResponse, 4)).error_code


@pytest.mark.parametrize("version", range(10))
async def test_one_member_joins_and_syncs_in_each_version(node: KafkaNode, peer: Peer, version: int) -> None:
    member = await joined(node, peer, version)
    assert member.generation_id == 1
    assert member.leader == member.member_id
    assert member.member_id.startswith("test-")
    assert member.protocol_name == "range"
    assert member.protocol_type == ("consumer" if version >= 7 else None)
    assert [(m.member_id, m.metadata) for m in member.members] == [(member.member_id, b"\0\0")]
    sync = await synced(peer, min(version, 5), member)
    assert (sync.error_code, sync.assignment) == (0, b"a")
    assert (sync.protocol_type, sync.protocol_name) == (
        ("consumer", "range") if version >= 5 else (None, None)
    )
    assert await heartbeat(peer, member) == 0


@pytest.mark.parametrize(("version", "expected"), [(6, ""), (7, None)])
async def test_a_refused_join_names_no_protocol(peer: Peer, version: int, expected: str | None) -> None:
    refused = await peer.ask(join_request(session_timeout_ms=1), JoinGroupResponse, version)
    assert refused.error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    assert refused.protocol_name == expected


async def test_joins_that_cannot_be(peer: Peer) -> None:
    for request, code in (
        (join_request(group_id=""), ErrorCode.INVALID_GROUP_ID),
        (join_request("nobody"), ErrorCode.UNKNOWN_MEMBER_ID),
        (join_request(protocols=[]), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        (join_request(protocol_type=""), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ):
        response = await peer.ask(request, JoinGroupResponse, 9)
        assert response.error_code == code
        assert response.member_id == request.member_id


async def test_before_version_1_the_session_time_out_is_that_of_rebalances(
    node: KafkaNode, peer: Peer
) -> None:
    first = await joined(node, peer, 0)
    await synced(peer, 0, first)
    joining = node.peer().send(join_request(), 0)  # and the first does not come back
    await node.clock.elapse(9_999)
    assert not joining.done()
    await node.clock.elapse(2)
    second = await joining
    assert isinstance(second, JoinGroupResponse)
    assert [member.member_id for member in second.members] == [second.member_id]


async def test_the_address_of_a_member_is_written_as_java_does(node: KafkaNode, peer: Peer) -> None:
    member = await joined(node, peer, 9)
    await synced(peer, 5, member)
    (group,) = (await peer.ask(DescribeGroupsRequest(groups=["g"]), DescribeGroupsResponse, 5)).groups
    assert group.members[0].client_host == "/127.0.0.1"
    assert group.members[0].client_id == "test"


async def test_two_members_meet_and_the_leader_assigns(node: KafkaNode, peer: Peer) -> None:
    other = node.peer("other")
    first = await joined(node, peer, 9)
    await synced(peer, 5, first)
    asked = await other.ask(join_request(), JoinGroupResponse, 9)
    joining = other.send(join_request(asked.member_id), 9)
    await settle()
    assert await heartbeat(peer, first) == ErrorCode.REBALANCE_IN_PROGRESS
    again = await peer.ask(join_request(first.member_id), JoinGroupResponse, 9)
    second = await joining
    assert isinstance(second, JoinGroupResponse)
    assert again.generation_id == second.generation_id == 2
    assert again.leader == second.leader == first.member_id
    assert {member.member_id for member in again.members} == {first.member_id, second.member_id}
    assert second.members == []
    waiting = asyncio.ensure_future(synced(other, 5, second, None))
    await settle()
    assert not waiting.done()
    assignments = [
        SyncGroupRequestAssignment(member_id=first.member_id, assignment=b"one"),
        SyncGroupRequestAssignment(member_id=second.member_id, assignment=b"two"),
    ]
    of_leader = await peer.ask(
        SyncGroupRequest(
            group_id="g",
            generation_id=2,
            member_id=first.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=assignments,
        ),
        SyncGroupResponse,
        5,
    )
    assert of_leader.assignment == b"one"
    assert (await waiting).assignment == b"two"


async def test_sync_must_name_the_protocol_from_version_5_on(node: KafkaNode, peer: Peer) -> None:
    member = await joined(node, peer, 9)
    request = SyncGroupRequest(group_id="g", generation_id=1, member_id=member.member_id)
    assert (await peer.ask(request, SyncGroupResponse, 5)).error_code == (
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    )
    request.protocol_type, request.protocol_name = "consumer", "roundrobin"
    assert (await peer.ask(request, SyncGroupResponse, 5)).error_code == (
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    )
    request.protocol_type = request.protocol_name = None
    assert (await peer.ask(request, SyncGroupResponse, 4)).error_code == 0


async def test_a_static_member_that_comes_back_skips_its_assignment(node: KafkaNode, peer: Peer) -> None:
    first = await joined(node, peer, 9, group_instance_id="i")
    await synced(peer, 5, first, b"mine")
    back = await joined(node, peer, 9, group_instance_id="i")
    assert back.skip_assignment
    assert back.generation_id == first.generation_id
    assert back.leader == back.member_id != first.member_id
    assert [member.group_instance_id for member in back.members] == ["i"]
    assert (await synced(peer, 5, back, None)).assignment == b"mine"
    assert await heartbeat(peer, first, group_instance_id="i") == ErrorCode.FENCED_INSTANCE_ID
    older = await joined(node, peer, 8, group_instance_id="i")  # may not lead: it would assign
    assert not older.skip_assignment
    assert older.leader != older.member_id
    assert older.members == []


async def test_a_client_that_goes_while_it_joins_can_come_back(node: KafkaNode, peer: Peer) -> None:
    first = await joined(node, peer, 9)
    await synced(peer, 5, first)
    gone = node.peer()
    asked = await gone.ask(join_request(), JoinGroupResponse, 9)
    gone.send(join_request(asked.member_id), 9).cancel()
    await settle()
    gone.disconnect()
    await settle()
    rejoining = peer.send(join_request(first.member_id), 9)
    response = await rejoining
    assert isinstance(response, JoinGroupResponse)
    assert len(response.members) == 2  # it is a member, and has its session time-out to come back
    back = await node.peer().ask(join_request(asked.member_id), JoinGroupResponse, 9)
    assert (back.error_code, back.generation_id) == (0, 2)


async def test_a_client_of_old_that_goes_while_it_joins_leaves_nobody_behind(
    node: KafkaNode, peer: Peer
) -> None:
    first = await joined(node, peer, 9)
    await synced(peer, 5, first)
    gone = node.peer()
    gone.send(join_request(), 3).cancel()
    await settle()
    gone.disconnect()
    await settle()
    response = await peer.ask(join_request(first.member_id), JoinGroupResponse, 9)
    assert [member.member_id for member in response.members] == [first.member_id]


async def test_heartbeats_that_cannot_be(node: KafkaNode, peer: Peer) -> None:
    member = await joined(node, peer, 9)
    assert await heartbeat(peer, member, group_id="") == ErrorCode.INVALID_GROUP_ID
    assert await heartbeat(peer, member, group_id="other") == ErrorCode.UNKNOWN_MEMBER_ID
    assert await heartbeat(peer, member, member_id="other") == ErrorCode.UNKNOWN_MEMBER_ID
    assert await heartbeat(peer, member, generation_id=7) == ErrorCode.ILLEGAL_GENERATION
    assert await heartbeat(peer, member, group_instance_id="i") == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_one_member_leaves(node: KafkaNode, peer: Peer, version: int) -> None:
    member = await joined(node, peer, 9)
    request = LeaveGroupRequest(group_id="g", member_id=member.member_id)
    assert (await peer.ask(request, LeaveGroupResponse, version)).error_code == 0
    answer = await peer.ask(request, LeaveGroupResponse, version)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    request = LeaveGroupRequest(group_id="", member_id=member.member_id)
    assert (await peer.ask(request, LeaveGroupResponse, version)).error_code == ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize("version", [3, 4, 5])
async def test_several_members_leave(node: KafkaNode, peer: Peer, version: int) -> None:
    member = await joined(node, peer, 9, group_instance_id="i")
    request = LeaveGroupRequest(
        group_id="g",
        members=[
            MemberIdentity(member_id="", group_instance_id="i"),
            MemberIdentity(member_id="nobody"),
            MemberIdentity(member_id=member.member_id, group_instance_id="j"),
        ],
    )
    answer = await peer.ask(request, LeaveGroupResponse, version)
    assert answer.error_code == 0
    assert [(m.member_id, m.group_instance_id, m.error_code) for m in answer.members] == [
        ("", "i", 0),
        ("nobody", None, ErrorCode.UNKNOWN_MEMBER_ID),
        (member.member_id, "j", ErrorCode.UNKNOWN_MEMBER_ID),
    ]


async def test_nobody_is_a_member_of_a_group_that_does_not_exist(peer: Peer) -> None:
    request = LeaveGroupRequest(group_id="none", members=[MemberIdentity(member_id="m")])
    answer = await peer.ask(request, LeaveGroupResponse, 5)
    assert answer.error_code == 0
    assert [m.error_code for m in answer.members] == [ErrorCode.UNKNOWN_MEMBER_ID]
    answer = await peer.ask(LeaveGroupRequest(group_id="none", member_id="m"), LeaveGroupResponse, 2)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
