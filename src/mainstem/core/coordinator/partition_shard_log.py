"""A partition of this node as the log of a coordinator's shard."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mainstem.core.partition import Partition
from mainstem.model.batch import BatchHeader, Buffer


class PartitionShardLog:
    """`core.coordinator.runtime.ShardLog` over a partition that this node leads."""

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
