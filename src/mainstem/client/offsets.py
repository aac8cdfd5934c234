"""Where partitions begin and end, and which offset belongs to a point in time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from mainstem.client.answer_codes import UNKNOWN_TOPIC_OR_PARTITION
from mainstem.client.cluster import ClusterClient
from mainstem.client.errors import Refused, check
from mainstem.model.ids import TopicPartition
from mainstem.wire.kafka.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

# What may be asked for instead of a timestamp.
LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3


class PartitionRange(NamedTuple):
    """The offsets that can be read: from `start`, up to but not including `end`."""

    start: int
    end: int


def offsets_at(
    cluster: ClusterClient, timestamps_ms: Mapping[TopicPartition, int], *, read_committed: bool = False
) -> dict[TopicPartition, int]:
    """The first offset at or after each timestamp, -1 where there is none so young; or LATEST, EARLIEST."""
    found: dict[TopicPartition, int] = {}

    def attempt() -> dict[TopicPartition, int]:
        missing = {part: timestamp for part, timestamp in timestamps_ms.items() if part not in found}
        found.update(_ask_leaders(cluster, missing, read_committed))
        return found

    return cluster.persist(attempt)


def partition_ranges(
    cluster: ClusterClient, partitions: Iterable[TopicPartition], *, read_committed: bool = False
) -> dict[TopicPartition, PartitionRange]:
    wanted = list(partitions)
    starts = offsets_at(cluster, dict.fromkeys(wanted, EARLIEST))
    ends = offsets_at(cluster, dict.fromkeys(wanted, LATEST), read_committed=read_committed)
    return {partition: PartitionRange(starts[partition], ends[partition]) for partition in wanted}


def partitions_of(cluster: ClusterClient, topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, partition.index) for partition in cluster.topic(topic).partitions]


def _ask_leaders(
    cluster: ClusterClient, timestamps_ms: Mapping[TopicPartition, int], read_committed: bool
) -> dict[TopicPartition, int]:
    by_leader: dict[int, dict[str, list[ListOffsetsPartition]]] = defaultdict(lambda: defaultdict(list))
    for partition, timestamp_ms in timestamps_ms.items():
        entry = ListOffsetsPartition(partition_index=partition.partition, timestamp=timestamp_ms)
        by_leader[cluster.leader_of(partition)][partition.topic].append(entry)
    found: dict[TopicPartition, int] = {}
    for leader, topics in by_leader.items():
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=int(read_committed),
            topics=[ListOffsetsTopic(name=name, partitions=entries) for name, entries in topics.items()],
        )
        for topic in cluster.ask_node(leader, request, ListOffsetsResponse).topics:
            for answer in topic.partitions:
                partition = TopicPartition(topic.name, answer.partition_index)
                check(answer.error_code, f"partition {partition}")
                found[partition] = answer.offset
    for partition in timestamps_ms:
        if partition not in found:
            raise Refused(UNKNOWN_TOPIC_OR_PARTITION, f"partition {partition}")
    return found
