"""The group coordinator on this node's partitions of `__consumer_offsets`.

`Replicas` says which partitions this node leads; each becomes a shard of the coordinator, with the
partition as its log. A group hashes to a partition, so the coordinator must know how many there are
before the first shard is led: the image says so.
"""

from __future__ import annotations

from mainstem.core.coordinator.partition_shard_log import PartitionShardLog
from mainstem.core.groups.coordinator import OFFSETS_TOPIC, GroupCoordinator
from mainstem.core.image import ClusterImage, MetadataDelta
from mainstem.core.partition import Partition


class HostedGroups:
    """A `LeadershipListener`, and a subscriber of the metadata follower."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self.topic = OFFSETS_TOPIC
        self._coordinator = coordinator

    def on_image(self, image: ClusterImage, delta: MetadataDelta) -> None:  # noqa: ARG002
        """Subscribe this before `Replicas.apply`, which calls `on_leader`."""
        for topic in (*delta.created, *delta.changed):
            if topic.name == OFFSETS_TOPIC:
                self._coordinator.set_partition_count(len(topic.partitions))
        if delta.removed:
            # A topic made anew under its name has no consumers yet that could have read from it.
            self._coordinator.on_topics_removed({topic.name for topic in delta.removed})

    def on_leader(self, partition: Partition) -> None:
        self._coordinator.on_leader(
            partition.topic_partition[1], partition.leader_epoch, PartitionShardLog(partition)
        )

    def on_resigned(self, partition: Partition) -> None:
        self._coordinator.on_resigned(partition.topic_partition[1], partition.leader_epoch)
