"""Looking again and again at what shards hold, a slice at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.support.coordinator_log import CoordinatorLog
from tests.support.simulated_clock import SimulatedClock

from mainstem.core.coordinator.led_shards import LedShards
from mainstem.core.coordinator.runtime import ShardRuntime
from mainstem.core.coordinator.sweep import SLICE_NAMES, Sweep
from mainstem.core.errors import NotCoordinator

INTERVAL_MS = 1_000


@dataclass
class NamesShard:
    """Holds names, writes nothing."""

    name: str
    clock: SimulatedClock
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.runtime: ShardRuntime[str] = ShardRuntime(self.name, self, self.clock)

    def encode(self, record: str) -> tuple[bytes, bytes | None]:
        return record.encode(), None

    def decode(self, key: bytes, value: bytes | None) -> str | None:  # noqa: ARG002
        return key.decode()

    def replay(self, record: str) -> None: ...

    def clear(self, error: Exception) -> None: ...

    def on_loaded(self) -> None: ...


class World:
    def __init__(self) -> None:
        self.clock = SimulatedClock()
        self.shards: LedShards[NamesShard] = LedShards("topic", 4, lambda name: NamesShard(name, self.clock))
        self.visited: list[str] = []
        self.refused: set[str] = set()
        self.interval_ms = INTERVAL_MS
        self.sweep = Sweep(
            self.clock, self.shards, lambda: self.interval_ms, lambda shard: shard.names, self._visit
        )

    def _visit(self, shard: NamesShard, name: str, now_ms: int) -> None:
        assert name in shard.names
        assert now_ms == self.clock.now_ms()
        self.visited.append(name)
        if name in self.refused:
            raise NotCoordinator("not any more")

    async def lead(self, partition: int, *names: str) -> NamesShard:
        self.shards.on_leader(partition, 1, CoordinatorLog())
        await self.shards.loaded()
        shard = self.shards.by_partition[partition]
        shard.names += names
        return shard


async def test_the_names_of_all_active_shards_are_visited_at_every_interval() -> None:
    world = World()
    await world.lead(0, "a", "b")
    await world.lead(2, "c")
    (await world.lead(3, "of another node")).runtime.on_resigned(1)
    world.sweep.start()
    world.sweep.start()
    world.clock.advance(INTERVAL_MS - 1)
    assert world.visited == []
    world.clock.advance(1)
    assert world.visited == ["a", "b", "c"]
    world.interval_ms = 10
    world.clock.advance(INTERVAL_MS)
    world.clock.advance(10)
    assert world.visited == ["a", "b", "c"] * 3
    world.sweep.stop()
    assert world.clock.pending == 0


async def test_one_turn_takes_a_slice() -> None:
    world = World()
    names = [f"{number}" for number in range(SLICE_NAMES + 1)]
    await world.lead(0, *names)
    world.sweep.start()
    world.clock.stall(INTERVAL_MS)
    world.clock._fire_next()
    assert world.visited == names[:SLICE_NAMES]
    world.clock._fire_next()
    assert world.visited == names


async def test_a_name_that_is_refused_holds_up_no_other() -> None:
    world = World()
    await world.lead(0, "a", "b")
    world.refused.add("a")
    world.sweep.start()
    world.clock.advance(INTERVAL_MS)
    assert world.visited == ["a", "b"]


async def test_a_sweep_that_was_stopped_in_the_middle_goes_on_at_the_next_start() -> None:
    world = World()
    await world.lead(0, *(f"{number}" for number in range(SLICE_NAMES + 1)))
    world.sweep.start()
    world.clock.stall(INTERVAL_MS)
    world.clock._fire_next()
    world.sweep.stop()
    assert world.clock.pending == 0
    world.sweep.start()
    assert world.clock.pending == 1
