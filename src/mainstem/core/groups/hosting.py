"""The group coordinator on this node's partitions of `__consumer_offsets`.

`Replicas` says which partitions this node leads; each becomes a shard of the coordinator, with the
partition as its log. A group hashes to a partition, so the coordinator must know how many there are
before the first shard is led: the image says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mainstem.core.groups.coordinator import OFFSETS_TOPIC, GroupCoordinator
from mainstem.core.image import ClusterImage, MetadataDelta
from mainstem.core.partition import Partition
from mainstem.model.batch import BatchHeader, Buffer


class PartitionShardLog:
    """A partition as a shard's log (`core.coordinator.runtime.ShardLog`)."""

    __slots__ = ("_partition",)

    def __init__(self, partition: Partition) -> None:
        self._partition = partition

    @property
    def log_start_offset(self) -> int:
        return self._partition.log_start_offset

    @property
    def high_watermark(self) -> int:
        return self._partition.high_watermark

    def append(self, batch: Buffer, on_committed: Callable[[Exception | None], None]) -> int:
        return self._partition.append_now(batch, on_committed)

    def read_batches(self, from_offset: int) -> Iterator[tuple[BatchHeader, memoryview]]:
        return self._partition.read_batches(from_offset)


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
