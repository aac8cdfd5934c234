"""Consumer groups: who is in them, what they committed, and changing or deleting that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mainstem.client.answer_codes import GROUP_ID_NOT_FOUND
from mainstem.client.cluster import ClusterClient
from mainstem.client.errors import Refused, check
from mainstem.model.ids import TopicPartition
from mainstem.wire.errors import WireError
from mainstem.wire.kafka.codec import decode
from mainstem.wire.kafka.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from mainstem.wire.kafka.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from mainstem.wire.kafka.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from mainstem.wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from mainstem.wire.kafka.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)
from mainstem.wire.kafka.records.consumer_protocol_assignment import ConsumerProtocolAssignment


class GroupListing(NamedTuple):
    group_id: str
    protocol_type: str
    state: str


@dataclass(frozen=True, slots=True)
class MemberView:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class GroupView:
    group_id: str
    state: str
    protocol_type: str
    assignor: str
    coordinator: str
    members: tuple[MemberView, ...]


class CommittedOffset(NamedTuple):
    offset: int
    metadata: str


def list_groups(cluster: ClusterClient) -> list[GroupListing]:
    """Asks every broker, because each lists only the groups that it coordinates."""
    found: dict[str, GroupListing] = {}
    for node_id in cluster.nodes:
        answer = cluster.ask_node(node_id, ListGroupsRequest(), ListGroupsResponse)
        check(answer.error_code, f"groups of broker {node_id}")
        for group in answer.groups:
            found[group.group_id] = GroupListing(group.group_id, group.protocol_type, group.group_state)
    return sorted(found.values())


def describe_group(cluster: ClusterClient, group: str) -> GroupView:
    """Refused when there is no such group."""

    def attempt() -> GroupView:
        answer = cluster.ask_coordinator(group, DescribeGroupsRequest(groups=[group]), DescribeGroupsResponse)
        for found in answer.groups:
            check(found.error_code, f"group {group}", found.error_message)
            members = tuple(
                MemberView(
                    member.member_id,
                    member.group_instance_id,
                    member.client_id,
                    member.client_host.removeprefix("/"),
                    assigned_partitions(found.protocol_type, member.member_assignment),
                )
                for member in found.members
            )
            coordinator = str(cluster.coordinator_of(group))
            return GroupView(
                group, found.group_state, found.protocol_type, found.protocol_data, coordinator, members
            )
        raise Refused(GROUP_ID_NOT_FOUND, f"group {group}")

    view = cluster.persist(attempt)
    if view.state == "Dead":  # what brokers answer for a name that they never heard
        raise Refused(GROUP_ID_NOT_FOUND, f"group {group}")
    return view


def committed_offsets(cluster: ClusterClient, group: str) -> dict[TopicPartition, CommittedOffset]:
    def attempt() -> dict[TopicPartition, CommittedOffset]:
        connection = cluster.connection_to(cluster.coordinator_of(group))
        if connection.version_of(OffsetFetchRequest) >= 8:
            request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
        else:
            request = OffsetFetchRequest(group_id=group, topics=None)
        answer = cluster.ask_coordinator(group, request, OffsetFetchResponse)
        check(answer.error_code, f"group {group}")
        committed: dict[TopicPartition, CommittedOffset] = {}
        for topic in answer.topics:
            for partition in topic.partitions:
                check(partition.error_code, f"group {group}")
                place = TopicPartition(topic.name, partition.partition_index)
                committed[place] = CommittedOffset(partition.committed_offset, partition.metadata or "")
        for found in answer.groups:
            check(found.error_code, f"group {group}")
            for entry in found.topics:
                for part in entry.partitions:
                    check(part.error_code, f"group {group}")
                    place = TopicPartition(entry.name, part.partition_index)
                    committed[place] = CommittedOffset(part.committed_offset, part.metadata or "")
        return {place: found for place, found in committed.items() if found.offset >= 0}

    return cluster.persist(attempt)


def commit_offsets(
    cluster: ClusterClient,
    group: str,
    offsets: Mapping[TopicPartition, int],
    *,
    timeout_s: float | None = None,
) -> None:
    """As a consumer that is no member: refused while the group has members."""
    by_topic: dict[str, list[OffsetCommitRequestPartition]] = defaultdict(list)
    for partition, offset in offsets.items():
        by_topic[partition.topic].append(
            OffsetCommitRequestPartition(partition_index=partition.partition, committed_offset=offset)
        )
    request = OffsetCommitRequest(
        group_id=group,
        topics=[
            OffsetCommitRequestTopic(name=name, partitions=entries) for name, entries in by_topic.items()
        ],
    )

    def attempt() -> None:
        answer = cluster.ask_coordinator(group, request, OffsetCommitResponse)
        for topic in answer.topics:
            for partition in topic.partitions:
                check(partition.error_code, f"group {group}, {topic.name}-{partition.partition_index}")

    if by_topic:
        cluster.persist(attempt, timeout_s=timeout_s)


def delete_group(cluster: ClusterClient, group: str) -> None:
    def attempt() -> None:
        answer = cluster.ask_coordinator(
            group, DeleteGroupsRequest(groups_names=[group]), DeleteGroupsResponse
        )
        for result in answer.results:
            check(result.error_code, f"group {group}")

    cluster.persist(attempt)


def assigned_partitions(protocol_type: str, assignment: bytes) -> frozenset[TopicPartition]:
    """The partitions in a member's assignment, where that is in the form that consumers use."""
    if protocol_type != "consumer" or len(assignment) < 2:
        return frozenset()
    version = max(0, min(int.from_bytes(assignment[:2], "big", signed=True), 3))
    try:
        message, _ = decode(ConsumerProtocolAssignment, version, assignment, 2)
    except WireError:
        return frozenset()
    return frozenset(
        TopicPartition(topic.topic, partition)
        for topic in message.assigned_partitions
        for partition in topic.partitions
    )
