"""Elections and reassignments while each partition has the replicas it was made with.

Replicas do not move yet: a reassignment to the replicas that a partition has is accepted and has
nothing to do, one that names other nodes is refused, and none is ever in progress. An election has
something to do only where the preferred leader lives and does not lead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mainstem.cluster.placement import check_assignment
from mainstem.core.errors import (
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    InvalidReplicaAssignment,
    NoReassignmentInProgress,
    PreferredLeaderNotAvailable,
    UnknownTopicOrPartition,
)
from mainstem.core.image import ClusterImage, PartitionImage
from mainstem.model.ids import TopicPartition


def find_partition(image: ClusterImage, at: TopicPartition) -> PartitionImage:
    topic = image.topics.get(at.topic)
    if topic is None or not 0 <= at.partition < len(topic.partitions):
        raise UnknownTopicOrPartition(f"there is no partition {at}")
    return topic.partitions[at.partition]


def elected(image: ClusterImage, at: TopicPartition, *, unclean: bool) -> PartitionImage:
    """The partition after the election, or why there is none."""
    partition = find_partition(image, at)
    live = [node_id for node_id in partition.replicas if node_id in image.brokers]
    if unclean:
        if partition.leader in image.brokers:
            raise ElectionNotNeeded(f"{at} has a live leader, node {partition.leader}")
        if not live:
            raise EligibleLeadersNotAvailable(f"no replica of {at} is alive")
        return led_by(partition, live[0])
    preferred = partition.replicas[0]
    if partition.leader == preferred:
        raise ElectionNotNeeded(f"{at} is led by its preferred replica, node {preferred}")
    if preferred not in live or preferred not in partition.isr:
        raise PreferredLeaderNotAvailable(
            f"the preferred replica of {at}, node {preferred}, is not alive and in sync"
        )
    return led_by(partition, preferred)


def led_by(partition: PartitionImage, leader: int) -> PartitionImage:
    """A change of leader: the leader epoch grows, which fences the one before."""
    isr = partition.isr if leader in partition.isr else (leader,)
    return replace(
        partition,
        leader=leader,
        isr=isr,
        leader_epoch=partition.leader_epoch + 1,
        partition_epoch=partition.partition_epoch + 1,
    )


def check_reassignment(image: ClusterImage, at: TopicPartition, replicas: Sequence[int] | None) -> None:
    """None as replicas asks to cancel a reassignment."""
    partition = find_partition(image, at)
    if replicas is None:
        raise NoReassignmentInProgress(f"no reassignment of {at} is in progress")
    check_assignment(replicas, image.brokers, None)
    if set(replicas) != set(partition.replicas):
        raise InvalidReplicaAssignment(
            f"{at} stays on {list(partition.replicas)}: replicas cannot be moved to other brokers yet"
        )
