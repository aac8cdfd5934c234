"""OffsetCommit, OffsetFetch and OffsetDelete, by topic name and by topic id."""

from __future__ import annotations

import pytest
from tests.support.kafka_node import KafkaNode, Peer

from mainstem.heads.kafka.apis.offset_commit import MAX_OFFSETS
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.model.ids import ZERO_TOPIC_ID, TopicId
from mainstem.wire.kafka.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from mainstem.wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from mainstem.wire.kafka.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from mainstem.wire.kafka.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

NO_TOPIC = TopicId(b"0123456789abcdef")


def commit_request(
    name: str,
    *offsets: tuple[int, int],
    topic_id: TopicId = ZERO_TOPIC_ID,
    group_id: str = "g",
    **more: object,
) -> OffsetCommitRequest:
    partitions = [
        OffsetCommitRequestPartition(
            partition_index=index,
            committed_offset=offset,
            committed_leader_epoch=4,
            committed_metadata=f"note {index}",
        )
        for index, offset in offsets
    ]
    topic = OffsetCommitRequestTopic(name=name, topic_id=topic_id, partitions=partitions)
    return OffsetCommitRequest(group_id=group_id, topics=[topic], **more)


async def committed(peer: Peer, request: OffsetCommitRequest, version: int) -> list[int]:
    answer = await peer.ask(request, OffsetCommitResponse, version)
    return [partition.error_code for topic in answer.topics for partition in topic.partitions]


async def a_member(node: KafkaNode, peer: Peer) -> JoinGroupResponse:
    """Joined and not synced: the group forms its generation."""
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    joining = peer.send(request, 3)
    await node.clock.elapse(1)
    response = await joining
    assert isinstance(response, JoinGroupResponse)
    return response


@pytest.mark.parametrize("version", range(2, 11))
async def test_an_offset_is_committed_and_fetched(node: KafkaNode, peer: Peer, version: int) -> None:
    topic = await node.create_topic("t", 2)
    by_id = version >= 10
    request = commit_request(
        "" if by_id else "t", (1, 42), topic_id=topic.topic_id if by_id else ZERO_TOPIC_ID
    )
    answer = await peer.ask(request, OffsetCommitResponse, version)
    assert (answer.topics[0].name, answer.topics[0].topic_id) == (
        ("", topic.topic_id) if by_id else ("t", ZERO_TOPIC_ID)
    )
    assert [(p.partition_index, p.error_code) for p in answer.topics[0].partitions] == [(1, 0)]
    (found,) = await node.groups.fetch_offsets("g")
    assert found[:5] == ("t", 1, 42, 4 if version >= 6 else -1, "note 1")


async def test_only_partitions_that_exist_are_committed_to(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")
    request = commit_request("t", (0, 7), (1, 7), (-1, 7))
    request.topics.append(commit_request("none", (0, 7)).topics[0])
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await committed(peer, request, 9) == [0, unknown, unknown, unknown]
    assert [offset.partition for offset in await node.groups.fetch_offsets("g")] == [0]


async def test_unknown_topics_by_id(node: KafkaNode, peer: Peer) -> None:
    topic = await node.create_topic("t")
    request = commit_request("", (0, 7), (1, 7), topic_id=topic.topic_id)
    request.topics.append(commit_request("", (0, 7), topic_id=NO_TOPIC).topics[0])
    assert await committed(peer, request, 10) == [
        0,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ]


async def test_commits_that_the_group_refuses(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t", 2)
    of_generation = commit_request(
        "t", (0, 1), (1, 1), (9, 1), member_id="m", generation_id_or_member_epoch=1
    )
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for version, code in ((8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)):
        assert await committed(peer, of_generation, version) == [code, code, unknown]
    member = await a_member(node, peer)
    assert await committed(peer, commit_request("t", (0, 1)), 9) == [ErrorCode.UNKNOWN_MEMBER_ID]
    own = commit_request("t", (0, 1), member_id=member.member_id, generation_id_or_member_epoch=1)
    assert await committed(peer, own, 9) == [ErrorCode.REBALANCE_IN_PROGRESS]
    own.generation_id_or_member_epoch = 2
    assert await committed(peer, own, 9) == [ErrorCode.ILLEGAL_GENERATION]


async def test_one_note_that_is_too_long_spoils_only_its_own_offset(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t", 2)
    request = commit_request("t", (0, 1), (1, 1))
    request.topics[0].partitions[0].committed_metadata = "x" * 4097
    assert await committed(peer, request, 9) == [ErrorCode.OFFSET_METADATA_TOO_LARGE, 0]


async def test_more_offsets_than_one_request_may_have(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")
    request = commit_request("t", *[(0, number) for number in range(MAX_OFFSETS + 1)])
    assert set(await committed(peer, request, 9)) == {ErrorCode.INVALID_COMMIT_OFFSET_SIZE}
    assert await node.groups.fetch_offsets("g") == []


async def test_a_client_of_old_sets_its_own_retention(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")
    assert await committed(peer, commit_request("t", (0, 1), retention_time_ms=1_000), 4) == [0]
    await node.clock.elapse(600_001)  # offsets.retention.check.interval.ms
    assert await node.groups.fetch_offsets("g") == []


# --- fetching


@pytest.mark.parametrize("version", range(1, 8))
async def test_fetching_of_one_group(node: KafkaNode, peer: Peer, version: int) -> None:
    await node.create_topic("t", 2)
    await committed(peer, commit_request("t", (1, 42)), 9)
    wanted = [OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])]
    wanted.append(OffsetFetchRequestTopic(name="none", partition_indexes=[0]))
    request = OffsetFetchRequest(group_id="g", topics=wanted, require_stable=version >= 7)
    answer = await peer.ask(request, OffsetFetchResponse, version)
    assert answer.error_code == 0
    assert [(topic.name, p.partition_index, p.committed_offset, p.metadata, p.error_code)
            for topic in answer.topics for p in topic.partitions] == [
        ("t", 0, -1, "", 0),
        ("t", 1, 42, "note 1", 0),
        ("none", 0, -1, "", 0),
    ]  # fmt: skip
    assert answer.topics[0].partitions[1].committed_leader_epoch == (4 if version >= 5 else -1)
    if version >= 2:
        everything = await peer.ask(
            OffsetFetchRequest(group_id="g", topics=None), OffsetFetchResponse, version
        )
        assert [(t.name, [p.partition_index for p in t.partitions]) for t in everything.topics] == [
            ("t", [1])
        ]


@pytest.mark.parametrize("version", [8, 9, 10])
async def test_fetching_of_several_groups(node: KafkaNode, peer: Peer, version: int) -> None:
    topic = await node.create_topic("t", 2)
    await committed(peer, commit_request("t", (1, 42)), 9)
    await committed(peer, commit_request("t", (0, 7), group_id="h"), 9)
    name, topic_id = ("", topic.topic_id) if version >= 10 else ("t", ZERO_TOPIC_ID)
    wanted = OffsetFetchRequestTopics(name=name, topic_id=topic_id, partition_indexes=[0, 1])
    request = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(group_id="g", topics=[wanted]),
            OffsetFetchRequestGroup(group_id="h", topics=None),
            OffsetFetchRequestGroup(group_id="none", topics=None),
        ]
    )
    answer = await peer.ask(request, OffsetFetchResponse, version)
    assert [(group.group_id, group.error_code) for group in answer.groups] == [
        ("g", 0),
        ("h", 0),
        ("none", 0),
    ]
    found = [
        [
            (t.name, t.topic_id, p.partition_index, p.committed_offset)
            for t in group.topics
            for p in t.partitions
        ]
        for group in answer.groups
    ]
    assert found == [[(name, topic_id, 0, -1), (name, topic_id, 1, 42)], [(name, topic_id, 0, 7)], []]


async def test_fetching_by_an_id_that_no_topic_has(peer: Peer) -> None:
    topic_id = NO_TOPIC
    wanted = OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0, 1])
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=[wanted])])
    (group,) = (await peer.ask(request, OffsetFetchResponse, 10)).groups
    assert group.error_code == 0
    assert [
        (group.topics[0].topic_id, p.error_code, p.committed_offset) for p in group.topics[0].partitions
    ] == [
        (topic_id, ErrorCode.UNKNOWN_TOPIC_ID, -1),
        (topic_id, ErrorCode.UNKNOWN_TOPIC_ID, -1),
    ]


async def test_where_groups_are_not_coordinated_here(node: KafkaNode, peer: Peer) -> None:
    node.groups.on_resigned(node.groups.partition_for("g"), 9)
    wanted = [OffsetFetchRequestTopic(name="t", partition_indexes=[0])]
    old = await peer.ask(OffsetFetchRequest(group_id="g", topics=wanted), OffsetFetchResponse, 1)
    assert old.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
    newer = await peer.ask(OffsetFetchRequest(group_id="g", topics=wanted), OffsetFetchResponse, 2)
    assert newer.error_code == ErrorCode.NOT_COORDINATOR
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])
    newest = await peer.ask(request, OffsetFetchResponse, 10)
    assert newest.groups[0].error_code == ErrorCode.NOT_COORDINATOR


# --- deleting


def delete_request(group_id: str, *partitions: tuple[str, int]) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group_id=group_id,
        topics=[
            OffsetDeleteRequestTopic(
                name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index)]
            )
            for name, index in partitions
        ],
    )


async def deleted(peer: Peer, request: OffsetDeleteRequest) -> tuple[int, list[int]]:
    answer = await peer.ask(request, OffsetDeleteResponse, 0)
    return answer.error_code, [p.error_code for topic in answer.topics for p in topic.partitions]


async def test_offsets_are_deleted(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t", 2)
    await committed(peer, commit_request("t", (0, 1), (1, 1)), 9)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    request = delete_request("g", ("t", 0), ("t", 2), ("none", 0))
    assert await deleted(peer, request) == (0, [0, unknown, unknown])
    assert [offset.partition for offset in await node.groups.fetch_offsets("g")] == [1]


async def test_offsets_that_cannot_be_deleted(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")
    assert (await deleted(peer, delete_request("", ("t", 0))))[0] == ErrorCode.INVALID_GROUP_ID
    assert (await deleted(peer, delete_request("none", ("t", 0))))[0] == ErrorCode.GROUP_ID_NOT_FOUND
    await a_member(node, peer)  # whose subscription cannot be read: it may well be to this topic
    assert await deleted(peer, delete_request("g", ("t", 0))) == (0, [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC])
