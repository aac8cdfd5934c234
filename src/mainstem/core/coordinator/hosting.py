"""A coordinator on this node's partitions of its internal topic.

`Replicas` says which partitions this node leads; each becomes a shard of the coordinator, with the
partition as its log. A name hashes to a partition, so the coordinator must know how many there are
before the first shard is led: the image says so.
"""

from __future__ import annotations

from typing import Protocol

from mainstem.core.coordinator.partition_shard_log import PartitionShardLog
from mainstem.core.coordinator.runtime import ShardLog
from mainstem.core.image import ClusterImage, MetadataDelta
from mainstem.core.partition import Partition


class ShardedCoordinator(Protocol):
    def set_partition_count(self, partition_count: int) -> None: ...

    def on_leader(self, partition: int, epoch: int, log: ShardLog) -> None: ...

    def on_resigned(self, partition: int, epoch: int) -> None: ...


class HostedCoordinator:
    """A `LeadershipListener`, and a subscriber of the metadata follower."""

    def __init__(self, topic: str, coordinator: ShardedCoordinator) -> None:
        self.topic = topic
        self._coordinator = coordinator

    def on_image(self, image: ClusterImage, delta: MetadataDelta) -> None:  # noqa: ARG002
        """Subscribe this before `Replicas.apply`, which calls `on_leader`."""
        for topic in (*delta.created, *delta.changed):
            if topic.name == self.topic:
                self._coordinator.set_partition_count(len(topic.partitions))

    def on_leader(self, partition: Partition) -> None:
        self._coordinator.on_leader(
            partition.topic_partition[1], partition.leader_epoch, PartitionShardLog(partition)
        )

    def on_resigned(self, partition: Partition) -> None:
        self._coordinator.on_resigned(partition.topic_partition[1], partition.leader_epoch)
