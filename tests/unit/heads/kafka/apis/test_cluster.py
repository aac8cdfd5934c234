"""DescribeCluster, DescribeLogDirs, DescribeTopicPartitions, elections and reassignments."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.kafka_node import KafkaNode, Peer

from mainstem.heads.kafka.authorized_operations import (
    CLUSTER_OPERATIONS,
    OPERATIONS_NOT_ASKED_FOR,
    TOPIC_OPERATIONS,
)
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.wire.kafka.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from mainstem.wire.kafka.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from mainstem.wire.kafka.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from mainstem.wire.kafka.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsRequestCursor,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from mainstem.wire.kafka.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from mainstem.wire.kafka.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)

# --- the cluster


@pytest.mark.parametrize("version", range(3))
async def test_the_cluster_is_described(node: KafkaNode, peer: Peer, version: int) -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    answer = await peer.ask(request, DescribeClusterResponse, version)
    assert (answer.error_code, answer.error_message, answer.endpoint_type) == (0, None, 1)
    assert (answer.cluster_id, answer.controller_id) == (node.broker.image.cluster_id, 1)
    (broker,) = answer.brokers
    # the address at the listener that the client came through, not the node's first
    assert (broker.broker_id, broker.host, broker.port) == (1, "broker.test", 19092)
    assert (broker.rack, broker.is_fenced) == ("rack-a", False)
    assert answer.cluster_authorized_operations == CLUSTER_OPERATIONS


@pytest.mark.parametrize(
    ("endpoint_type", "code"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
async def test_there_are_endpoints_of_brokers_only(peer: Peer, endpoint_type: int, code: ErrorCode) -> None:
    request = DescribeClusterRequest(endpoint_type=endpoint_type)
    answer = await peer.ask(request, DescribeClusterResponse, 1)
    assert answer.error_code == code
    assert answer.error_message
    assert answer.cluster_authorized_operations == OPERATIONS_NOT_ASKED_FOR


# --- log directories


@pytest.mark.parametrize("version", range(1, 6))
async def test_log_directories_are_described(node: KafkaNode, peer: Peer, version: int) -> None:
    await node.create_topic("t", 2)
    node.fill("t", 100)
    answer = await peer.ask(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse, version)
    assert answer.error_code == 0
    assert [result.log_dir for result in answer.results] == node.log_paths
    assert all(result.error_code == 0 for result in answer.results)
    sizes = {
        (topic.name, partition.partition_index): partition.partition_size
        for result in answer.results
        for topic in result.topics
        for partition in topic.partitions
    }
    assert set(sizes) == {("t", 0), ("t", 1), *(("__consumer_offsets", index) for index in range(3))}
    assert sizes["t", 0] == node.broker.partition("t", 0).log.size_bytes > 100
    assert sizes["t", 1] == 0
    for result in answer.results:
        if version >= 4:
            assert 0 < result.usable_bytes <= result.total_bytes
        else:
            assert (result.total_bytes, result.usable_bytes) == (-1, -1)


async def test_some_partitions_of_the_log_directories(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t", 3)
    wanted = [
        DescribableLogDirTopic(topic="t", partitions=[0, 2, 9]),
        DescribableLogDirTopic(topic="none", partitions=[0]),
    ]
    answer = await peer.ask(DescribeLogDirsRequest(topics=wanted), DescribeLogDirsResponse, 4)
    assert len(answer.results) == 2
    found = {
        (topic.name, partition.partition_index)
        for result in answer.results
        for topic in result.topics
        for partition in topic.partitions
    }
    assert found == {("t", 0), ("t", 2)}


async def test_a_log_directory_that_is_offline_says_so(node: KafkaNode, peer: Peer) -> None:
    node.directories.fail(node.log_paths[0], "the disk is gone")
    answer = await peer.ask(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse, 4)
    offline, online = answer.results
    assert (offline.log_dir, offline.error_code) == (node.log_paths[0], ErrorCode.KAFKA_STORAGE_ERROR)
    assert offline.topics == []
    assert (online.log_dir, online.error_code) == (node.log_paths[1], 0)


# --- partitions, a page at a time


async def page(
    peer: Peer, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> DescribeTopicPartitionsResponse:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=cursor
        and DescribeTopicPartitionsRequestCursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    return await peer.ask(request, DescribeTopicPartitionsResponse, 0)


def shown(answer: DescribeTopicPartitionsResponse) -> list[tuple[str | None, list[int]]]:
    return [
        (topic.name, [partition.partition_index for partition in topic.partitions]) for topic in answer.topics
    ]


def cursor_of(answer: DescribeTopicPartitionsResponse) -> tuple[str, int] | None:
    cursor = answer.next_cursor
    return None if cursor is None else (cursor.topic_name, cursor.partition_index)


async def test_partitions_are_described(node: KafkaNode, peer: Peer) -> None:
    made = await node.create_topic("t")
    answer = await page(peer, "t", "none")
    none, topic = answer.topics
    assert (none.name, none.error_code) == ("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert (topic.topic_id, topic.is_internal, topic.error_code) == (made.topic_id, False, 0)
    assert topic.topic_authorized_operations == TOPIC_OPERATIONS
    (partition,) = topic.partitions
    assert (partition.leader_id, partition.leader_epoch, partition.error_code) == (1, 0, 0)
    assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ([1], [1], [])
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ([], [])
    assert answer.next_cursor is None


async def test_pages_follow_the_cursor(node: KafkaNode, peer: Peer) -> None:
    for name, count in (("b", 3), ("a", 2), ("c", 1)):
        await node.create_topic(name, count)
    seen, cursor = [], None
    for _ in range(3):
        answer = await page(peer, "c", "b", "a", limit=2, cursor=cursor)
        seen.append(shown(answer))
        cursor = cursor_of(answer)
    assert seen == [[("a", [0, 1])], [("b", [0, 1])], [("b", [2]), ("c", [0])]]
    assert cursor is None


async def test_a_page_of_all_topics(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t", 2)
    first = await page(peer, limit=0)  # one partition at least, or nobody would get on
    assert shown(first) == [("__consumer_offsets", [0])]
    assert first.topics[0].is_internal
    assert cursor_of(first) == ("__consumer_offsets", 1)
    rest = await page(peer, limit=99_999, cursor=("__consumer_offsets", 1))
    assert shown(rest) == [("__consumer_offsets", [1, 2]), ("t", [0, 1])]
    # the cursor's topic was deleted meanwhile: on with the next
    assert shown(await page(peer, cursor=("s", 1))) == [("t", [0, 1])]


async def test_a_page_holds_2000_partitions_at_most(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t", 2001)
    answer = await page(peer, "t", limit=5000)
    assert [len(indexes) for _, indexes in shown(answer)] == [2000]
    assert cursor_of(answer) == ("t", 2000)


async def test_the_most_partitions_of_a_page_can_be_set(tmp_path: Path) -> None:
    node = await KafkaNode(tmp_path, {"max.request.partition.size.limit": "3"}).start()
    try:
        await node.create_topic("t", 5)
        answer = await page(node.peer(), "t", limit=5000)
        assert shown(answer) == [("t", [0, 1, 2])]
        assert cursor_of(answer) == ("t", 3)
    finally:
        await node.stop()


async def test_cursors_that_cannot_be(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")
    for cursor in (("t", -1), ("other", 0)):
        answer = await page(peer, "t", cursor=cursor)
        assert [topic.error_code for topic in answer.topics] == [ErrorCode.INVALID_REQUEST]


# --- leaders and replicas


async def elected(
    peer: Peer, *partitions: tuple[str, int], everything: bool = False, kind: int = 0, version: int = 2
) -> tuple[int, dict[tuple[str, int], int]]:
    named = [TopicPartitions(topic=name, partitions=[index]) for name, index in partitions]
    request = ElectLeadersRequest(
        election_type=kind, topic_partitions=None if everything else named, timeout_ms=10_000
    )
    answer = await peer.ask(request, ElectLeadersResponse, version)
    return answer.error_code, {
        (topic.topic, result.partition_id): result.error_code
        for topic in answer.replica_election_results
        for result in topic.partition_result
    }


@pytest.mark.parametrize("version", range(3))
async def test_no_election_is_needed_where_the_preferred_leader_leads(
    node: KafkaNode, peer: Peer, version: int
) -> None:
    await node.create_topic("t")
    assert await elected(peer, ("t", 0), ("none", 0), version=version) == (
        0,
        {
            ("t", 0): ErrorCode.ELECTION_NOT_NEEDED,
            ("none", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        },
    )
    assert await elected(peer, everything=True, version=version) == (0, {})


async def test_elections_of_other_kinds(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")
    assert await elected(peer, ("t", 0), kind=1) == (0, {("t", 0): ErrorCode.ELECTION_NOT_NEEDED})
    assert await elected(peer, ("t", 0), kind=2) == (0, {("t", 0): ErrorCode.INVALID_REQUEST})
    assert await elected(peer, everything=True, kind=2) == (ErrorCode.INVALID_REQUEST, {})


@pytest.mark.parametrize("version", [0, 1])
async def test_reassignments(node: KafkaNode, peer: Peer, version: int) -> None:
    await node.create_topic("t", 3)
    request = AlterPartitionReassignmentsRequest(
        topics=[
            ReassignableTopic(
                name="t",
                partitions=[
                    ReassignablePartition(partition_index=0, replicas=[1]),
                    ReassignablePartition(partition_index=1, replicas=[2]),
                    ReassignablePartition(partition_index=2, replicas=None),
                    ReassignablePartition(partition_index=9, replicas=[1]),
                ],
            )
        ]
    )
    answer = await peer.ask(request, AlterPartitionReassignmentsResponse, version)
    assert (answer.error_code, answer.error_message) == (0, None)
    assert [(p.partition_index, p.error_code) for p in answer.responses[0].partitions] == [
        (0, 0),
        (1, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (2, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
        (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


async def test_a_reassignment_that_must_keep_the_number_of_replicas(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")
    partition = ReassignablePartition(partition_index=0, replicas=[1, 2])
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=False,
        topics=[ReassignableTopic(name="t", partitions=[partition])],
    )
    answer = await peer.ask(request, AlterPartitionReassignmentsResponse, 1)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert not answer.allow_replication_factor_change


async def test_nothing_is_being_reassigned(node: KafkaNode, peer: Peer) -> None:
    await node.create_topic("t")
    named = [
        ListPartitionReassignmentsTopics(name="t", partition_indexes=[0, 9]),
        ListPartitionReassignmentsTopics(name="none", partition_indexes=[0]),
    ]
    for topics in (None, named):
        request = ListPartitionReassignmentsRequest(topics=topics)
        answer = await peer.ask(request, ListPartitionReassignmentsResponse, 0)
        assert (answer.error_code, answer.topics) == (0, [])
