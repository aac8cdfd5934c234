"""How far a group is: what it committed, against what the partitions hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mainstem.client.answer_codes import LEADER_NOT_AVAILABLE, UNKNOWN_TOPIC_OR_PARTITION
from mainstem.client.cluster import ClusterClient
from mainstem.client.errors import Refused
from mainstem.client.groups import CommittedOffset, GroupView, MemberView, committed_offsets, describe_group
from mainstem.client.offsets import PartitionRange, partition_ranges
from mainstem.model.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class PartitionProgress:
    partition: TopicPartition
    committed: CommittedOffset | None
    range: PartitionRange | None  # None: the topic is gone, or nobody leads the partition
    member: MemberView | None  # who reads it

    @property
    def committed_offset(self) -> int | None:
        return None if self.committed is None else self.committed.offset

    @property
    def metadata(self) -> str | None:
        return None if self.committed is None else self.committed.metadata

    @property
    def start_offset(self) -> int | None:
        return None if self.range is None else self.range.start

    @property
    def end_offset(self) -> int | None:
        return None if self.range is None else self.range.end

    @property
    def lag(self) -> int | None:
        """Offsets between the committed one and the end; not known where nothing was committed."""
        if self.committed is None or self.range is None:
            return None
        return max(0, self.range.end - self.committed.offset)


@dataclass(frozen=True, slots=True)
class GroupProgress:
    view: GroupView
    partitions: tuple[PartitionProgress, ...]

    @property
    def lag(self) -> int | None:
        known = [row.lag for row in self.partitions if row.lag is not None]
        return sum(known) if known else None


def progress_of(cluster: ClusterClient, group: str) -> GroupProgress:
    view = describe_group(cluster, group)
    committed = committed_offsets(cluster, group)
    readers = {partition: member for member in view.members for partition in member.partitions}
    places = sorted(committed.keys() | readers.keys())
    ranges = _ranges(cluster, places)
    return GroupProgress(
        view,
        tuple(
            PartitionProgress(place, committed.get(place), ranges.get(place), readers.get(place))
            for place in places
        ),
    )


def _ranges(cluster: ClusterClient, places: list[TopicPartition]) -> Mapping[TopicPartition, PartitionRange]:
    """Of those partitions that can be asked for: an old offset may belong to a topic that is gone."""
    led = []
    for place in places:
        try:
            cluster.leader_of(place)
        except Refused as error:
            if error.code not in (UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE):
                raise
        else:
            led.append(place)
    return partition_ranges(cluster, led)
