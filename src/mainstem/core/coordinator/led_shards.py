"""The shards of one coordinator: the partitions of its internal topic that this node leads or led.

A shard is made when its partition is led for the first time and stays, so that it finds its way back after
a change of leader; what state it is in says its runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

from mainstem.core.coordinator.hashing import partition_of
from mainstem.core.coordinator.runtime import ShardLog, ShardRuntime, ShardState
from mainstem.core.errors import NotCoordinator


class LedShard(Protocol):
    @property
    def runtime(self) -> ShardRuntime[Any]: ...


S = TypeVar("S", bound=LedShard)


class LedShards(Generic[S]):
    """`new_shard` makes one of the name that it is given, for the log."""

    def __init__(self, topic: str, partition_count: int, new_shard: Callable[[str], S]) -> None:
        self.topic = topic
        self.partition_count = partition_count
        self.by_partition: dict[int, S] = {}
        self._new_shard = new_shard

    def __iter__(self) -> Iterator[S]:
        return iter(self.by_partition.values())

    # --- life

    def on_leader(self, partition: int, epoch: int, log: ShardLog) -> None:
        shard = self.by_partition.get(partition)
        if shard is None:
            shard = self.by_partition[partition] = self._new_shard(f"{self.topic}-{partition}")
        shard.runtime.on_leader(epoch, log)

    def on_resigned(self, partition: int, epoch: int) -> None:
        shard = self.by_partition.get(partition)
        if shard is not None:
            shard.runtime.on_resigned(epoch)

    async def loaded(self) -> None:
        """Waits until no shard is loading."""
        for shard in list(self):
            await shard.runtime.loaded()

    def close(self) -> None:
        """Whoever waits is told to look for another coordinator."""
        for shard in self:
            shard.runtime.flush()
            shard.runtime.on_resigned(shard.runtime.epoch)

    # --- routing

    def partition_for(self, name: str) -> int:
        """As Kafka computes it, so that its tools look in the same place."""
        return partition_of(name, self.partition_count)

    def serving(self, partition: int, kind: str, name: object) -> S:
        """The shard of the partition, if it serves now. For the error: what was looked for there."""
        shard = self.by_partition.get(partition)
        if shard is None:
            raise NotCoordinator(f"{kind} {name} is coordinated elsewhere")
        if shard.runtime.state is not ShardState.ACTIVE:
            shard.runtime.check_active()
        return shard

    def active(self) -> list[S]:
        """Those that serve now: for what does not wait for the rest."""
        return [shard for shard in self if shard.runtime.state is ShardState.ACTIVE]

    def led(self) -> Iterator[S]:
        """All that this node leads: raises at one that does not serve yet."""
        for shard in self:
            if shard.runtime.state is not ShardState.RESIGNED:
                shard.runtime.check_active()
                yield shard

    def states(self) -> Mapping[int, str]:
        return {partition: shard.runtime.state.value for partition, shard in self.by_partition.items()}
