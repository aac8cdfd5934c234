"""The transaction coordinator on this node's partitions of `__transaction_state`."""

from __future__ import annotations

from mainstem.core.coordinator.partition_shard_log import PartitionShardLog
from mainstem.core.image import ClusterImage, MetadataDelta
from mainstem.core.partition import Partition
from mainstem.core.transactions.coordinator import TRANSACTIONS_TOPIC, TransactionCoordinator


class HostedTransactions:
    """A `LeadershipListener`, and a subscriber of the metadata follower."""

    def __init__(self, coordinator: TransactionCoordinator) -> None:
        self.topic = TRANSACTIONS_TOPIC
        self._coordinator = coordinator

    def on_image(self, image: ClusterImage, delta: MetadataDelta) -> None:  # noqa: ARG002
        """Subscribe this before `Replicas.apply`, which calls `on_leader`."""
        for topic in (*delta.created, *delta.changed):
            if topic.name == TRANSACTIONS_TOPIC:
                self._coordinator.set_partition_count(len(topic.partitions))

    def on_leader(self, partition: Partition) -> None:
        self._coordinator.on_leader(
            partition.topic_partition[1], partition.leader_epoch, PartitionShardLog(partition)
        )

    def on_resigned(self, partition: Partition) -> None:
        self._coordinator.on_resigned(partition.topic_partition[1], partition.leader_epoch)
