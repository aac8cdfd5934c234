"""How many bytes each replica of a partition takes, and where."""

from __future__ import annotations

from typing import NamedTuple

from mainstem.client.cluster import ClusterClient
from mainstem.client.errors import check
from mainstem.model.ids import TopicPartition
from mainstem.wire.kafka.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)


class ReplicaSize(NamedTuple):
    node_id: int
    directory: str
    size_bytes: int
    lag: int


def replica_sizes(cluster: ClusterClient, topics: list[str]) -> dict[TopicPartition, list[ReplicaSize]]:
    """Of the replicas on all brokers; those on a directory that failed are missing."""
    wanted = [
        DescribableLogDirTopic(topic=name, partitions=[part.index for part in cluster.topic(name).partitions])
        for name in topics
    ]
    sizes: dict[TopicPartition, list[ReplicaSize]] = {}
    for node_id in cluster.nodes:
        answer = cluster.ask_node(node_id, DescribeLogDirsRequest(topics=wanted), DescribeLogDirsResponse)
        check(answer.error_code, f"log directories of broker {node_id}")
        for directory in answer.results:
            for topic in directory.topics:
                for part in topic.partitions:
                    replica = ReplicaSize(node_id, directory.log_dir, part.partition_size, part.offset_lag)
                    sizes.setdefault(TopicPartition(topic.name, part.partition_index), []).append(replica)
    return sizes
