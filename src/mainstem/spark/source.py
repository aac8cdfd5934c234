"""The batch read: `spark.read.format("mainstem")`, and what it shares with the stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from mainstem.client.cluster import ClusterClient
from mainstem.model.ids import TopicPartition
from mainstem.spark.arrow import source_schema
from mainstem.spark.errors import DataLost, InvalidOption
from mainstem.spark.options import SourceOptions
from mainstem.spark.ranges import OffsetRange, split_ranges
from mainstem.spark.reading import kept_cluster, read_range
from mainstem.spark.topics import bound_offsets, earliest_offsets, find_topics, latest_offsets


@dataclass(frozen=True)
class TaskRange(InputPartition):
    """What one task reads; Spark sends it to the task."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def offsets(self) -> OffsetRange:
        return OffsetRange(TopicPartition(self.topic, self.partition), self.start, self.end)


def task_ranges(options: SourceOptions, ranges: Sequence[OffsetRange]) -> list[TaskRange]:
    pieces = split_ranges(
        ranges, min_count=options.min_partitions, max_size=options.max_records_per_partition
    )
    return [TaskRange(*piece.partition, piece.start, piece.end) for piece in pieces]


def check_schema(schema: StructType, with_headers: bool) -> None:
    ours = source_schema(with_headers)
    if [(field.name, field.dataType) for field in schema] != [(field.name, field.dataType) for field in ours]:
        raise InvalidOption(
            "schema",
            schema.simpleString(),
            f"the columns are {ours.simpleString()}",
            "Leave the schema out, and cast or parse the columns after the read.",
        )


class BatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[TaskRange]:
        options = self._options
        with kept_cluster(options.client) as cluster:
            ranges = batch_ranges(cluster, options)
        # Spark takes an empty list for a source that is not divided, and would read "all of it".
        return task_ranges(options, ranges) or [TaskRange("", 0, 0, 0)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, TaskRange)
        return read_range(self._options, partition.offsets)


def batch_ranges(cluster: ClusterClient, options: SourceOptions) -> list[OffsetRange]:
    """What a batch reads: the bounds as they are now, held against what the partitions have."""
    found = find_topics(cluster, options.subscription)
    parts = found.partitions
    starts = bound_offsets(cluster, "starting", options.start, parts, options.read_committed)
    ends = bound_offsets(cluster, "ending", options.end, parts, options.read_committed)
    firsts = earliest_offsets(cluster, parts)
    lasts = latest_offsets(cluster, parts, options.read_committed)
    losses: list[str] = []
    ranges: list[OffsetRange] = []
    for part in parts:
        start, end = starts[part], ends[part]
        for name, offset in (("startingOffsets", start), ("endingOffsets", end)):
            if not firsts[part] <= offset <= lasts[part]:
                losses.append(f"{name} has {offset} for {part}, which holds {firsts[part]} to {lasts[part]}")
        start = min(max(start, firsts[part]), lasts[part])
        end = min(max(end, start), lasts[part])
        ranges.append(OffsetRange(part, start, end))
    if losses and options.fail_on_data_loss:
        raise DataLost(losses)
    return ranges
