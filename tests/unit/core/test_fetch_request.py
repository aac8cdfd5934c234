"""A fetch that waits: woken when enough was committed, over when its time is, and gone without a trace."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tests.support.logs import START_MS
from tests.support.simulated_clock import SimulatedClock, settle
from tests.support.storage_node import StorageNode

from mainstem.core.append_turn import AppendTurn
from mainstem.core.errors import NotLeaderOrFollower, StorageFailed
from mainstem.core.fetch_request import FetchEntry, FetchLimits, FetchRequest
from mainstem.core.partition import FetchResult, Partition


class World:
    def __init__(self, node: StorageNode) -> None:
        self.node = node
        self.clock = SimulatedClock()
        self.answers: list[Sequence[FetchResult]] = []
        self._turn = AppendTurn(asyncio.get_running_loop().call_soon)

    @classmethod
    async def made(cls, partitions: int = 1, **config: str) -> World:
        node = await StorageNode().start()
        await node.create("t", partitions=partitions, **config)
        return cls(node)

    def fetch(
        self, *entries: tuple[int, int], min_bytes: int = 1, max_bytes: int = 1 << 20, wait_ms: int = 500
    ) -> FetchRequest:
        """Each entry is a partition and an offset."""
        request = FetchRequest(
            [FetchEntry("t", index, offset, 1 << 20) for index, offset in entries],
            FetchLimits(min_bytes, max_bytes, wait_ms, 0),
            lambda entry: self.node.replicas.get(entry.topic, entry.partition),
            self._turn,
            self.clock,
            self.answers.append,
        )
        request.start()
        return request

    def partition(self, index: int = 0) -> Partition:
        return self.node.partition("t", index)

    @property
    def is_clean(self) -> bool:
        """Nothing waits anywhere for a fetch any more."""
        readers = sum(len(partition._readers) for partition in self.node.replicas.partitions.values())
        return readers == 0 and self.clock.pending == 0


async def test_what_is_there_is_answered_at_once() -> None:
    world = await World.made(2)
    world.node.produce("t", b"x", partition=1)
    world.fetch((0, 0), (1, 0))
    [[empty, full]] = world.answers
    assert empty.records is None
    assert full.records is not None
    assert world.is_clean


async def test_a_commit_wakes_who_waits_and_many_of_a_turn_wake_once() -> None:
    world = await World.made()
    world.fetch((0, 0))
    await settle()
    assert world.answers == []
    for number in range(3):
        world.node.produce("t", b"%d" % number)
    assert world.answers == []  # at the end of the turn
    await settle()
    [[result]] = world.answers
    assert result.records is not None
    assert result.records.length == world.partition().log.size_bytes
    assert world.is_clean


async def test_it_waits_until_enough_bytes_are_there() -> None:
    world = await World.made(2)
    world.fetch((0, 0), (1, 0), min_bytes=2_000)
    for partition in (0, 1, 0):
        world.node.produce("t", bytes(700), partition=partition)
        await settle()
    assert len(world.answers) == 1
    assert sum(result.records.length for result in world.answers[0] if result.records) >= 2_000
    assert world.is_clean


async def test_what_is_written_and_not_committed_wakes_nobody() -> None:
    world = await World.made(acks_after="disk")
    world.node.durability.is_held = True
    world.fetch((0, 0))
    world.node.produce("t", b"x")
    await settle()
    assert world.answers == []
    world.node.durability.release()
    await settle()
    assert len(world.answers) == 1


async def test_when_its_time_is_over_it_is_answered_with_what_there_is() -> None:
    world = await World.made()
    world.fetch((0, 0), min_bytes=1 << 20, wait_ms=500)
    world.node.produce("t", b"little")
    await world.clock.elapse(499)
    assert world.answers == []
    await world.clock.elapse(1)
    [[result]] = world.answers
    assert result.records is not None
    assert world.is_clean
    world.node.produce("t", b"more")
    await world.clock.elapse(10_000)
    assert len(world.answers) == 1


async def test_without_time_to_wait_it_is_answered_at_once() -> None:
    world = await World.made()
    world.fetch((0, 0), wait_ms=0)
    world.fetch((0, 0), wait_ms=-5)
    world.fetch((0, 0), min_bytes=0)
    world.fetch(wait_ms=500)
    assert len(world.answers) == 4
    assert world.is_clean


async def test_given_up_it_leaves_nothing_and_answers_nobody() -> None:
    world = await World.made(2)
    request = world.fetch((0, 0), (1, 0))
    request.cancel()
    assert world.is_clean
    world.node.produce("t", b"x")
    await world.clock.elapse(1_000)
    assert world.answers == []


async def test_given_up_after_it_was_woken_it_answers_nobody() -> None:
    world = await World.made()
    request = world.fetch((0, 0))
    world.node.produce("t", b"x")
    request.cancel()
    await settle()
    assert world.answers == []
    assert world.is_clean


async def test_a_partition_that_goes_away_ends_the_wait() -> None:
    world = await World.made(2)
    world.fetch((0, 0), (1, 0))
    await world.node.delete("t")
    await settle()
    [results] = world.answers
    assert all(result.error is not None for result in results)
    world = await World.made()
    world.fetch((0, 0))
    world.partition().fail(StorageFailed("gone"))
    await settle()
    [[result]] = world.answers
    assert isinstance(result.error, StorageFailed)
    assert world.is_clean


async def test_resigning_is_told_as_such() -> None:
    world = await World.made()
    world.fetch((0, 0))
    world.node.replicas.close()
    await settle()
    [[result]] = world.answers
    assert result.error is not None
    assert not isinstance(result.error, StorageFailed)
    assert isinstance(result.error, NotLeaderOrFollower)


async def test_limits_are_shared_and_only_the_first_batch_may_be_larger() -> None:
    world = await World.made(3)
    for partition in range(3):
        world.node.produce("t", bytes(1_000), partition=partition, time_ms=START_MS)
    size = world.partition().log.size_bytes
    world.fetch((0, 0), (1, 0), (2, 0), max_bytes=10)
    assert [result.records.length if result.records else 0 for result in world.answers[0]] == [size, 0, 0]
    world.fetch((0, 0), (1, 0), (2, 0), max_bytes=2 * size)
    assert [result.records.length if result.records else 0 for result in world.answers[1]] == [size, size, 0]
