"""A restart or a change of leader: the log gives back what it has, and the members find out the rest."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.group_world import FORMING_MS, SESSION_MS, World, keep_alive, outcome
from tests.support.simulated_clock import settle

from mainstem.core.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    FencedInstanceId,
    IllegalGeneration,
    NotCoordinator,
    RebalanceInProgress,
    StorageFailed,
    UnknownMemberId,
)
from mainstem.core.groups.requests import CommitRequest, OffsetToCommit
from mainstem.core.groups.states import GroupState


async def test_a_stable_group_is_stable_after_a_restart(world: World) -> None:
    a, b = world.consumer("a"), world.consumer("b", instance_id="i")
    await world.stable(a, b)
    await a.commit(5)
    before = world.group()
    await world.restart()
    after = world.group()
    assert after is not before
    assert (after.stored, after.offsets) == (before.stored, before.offsets)
    assert world.state is GroupState.STABLE
    for consumer in (a, b):
        consumer.heartbeat()
        assert (await consumer.sync()).assignment == f"for {consumer.member_id}".encode()
        assert await consumer.commit(6) is None
    with pytest.raises(FencedInstanceId):
        world.coordinator.heartbeat("g", "former", 1, "i")


async def test_sessions_begin_anew_after_a_restart(world: World) -> None:
    a, b = world.consumer("a"), world.consumer("b")
    await world.stable(a, b)
    await keep_alive(world, SESSION_MS - 1_000, a)
    await world.restart()
    await keep_alive(world, SESSION_MS - 1_000, a)
    assert world.state is GroupState.STABLE
    await keep_alive(world, 1_001, a)
    assert world.state is GroupState.PREPARING


async def test_a_rebalance_in_the_middle_is_forgotten_and_begins_again(world: World) -> None:
    a, b = world.consumer("a"), world.consumer("b")
    await world.stable(a, b)
    leader, follower = (a, b) if a.leads else (b, a)
    rejoin = leader.start_join()
    await settle()
    await world.restart()
    assert await outcome(rejoin) is NotCoordinator
    assert world.state is GroupState.STABLE
    follower.heartbeat()
    rejoin = leader.start_join()
    await settle()
    with pytest.raises(RebalanceInProgress):
        follower.heartbeat()
    await follower.join_once()
    assert (await rejoin).generation == 2


async def test_a_generation_whose_assignment_was_not_stored_never_was(world: World) -> None:
    a, b = world.consumer("a"), world.consumer("b")
    await world.stable(a, b)
    rejoins = [a.start_join(), b.start_join()]
    if not a.leads:
        rejoins.reverse()
    await settle()
    await asyncio.gather(*rejoins)
    assert a.generation == 2
    await world.restart()
    for consumer in (a, b):
        with pytest.raises(IllegalGeneration):
            consumer.heartbeat()
        assert await outcome(world.start_task(consumer.commit(9))) is IllegalGeneration


@pytest.mark.parametrize("kept", [0, 1])
async def test_an_assignment_that_was_being_stored_is_there_or_not(world: World, kept: int) -> None:
    a, b = world.consumer("a"), world.consumer("b")
    joins = [a.start_join(), b.start_join()]
    await world.clock.elapse(FORMING_MS)
    await asyncio.gather(*joins)
    world.log.commits_at_once = False
    syncs = [a.start_sync(), b.start_sync()]
    await settle()
    await world.restart(kept=kept)
    assert [await outcome(sync) for sync in syncs] == [NotCoordinator] * 2
    world.log.commits_at_once = True
    if kept:
        assert world.state is GroupState.STABLE
        a.heartbeat()
        assert (await b.sync()).assignment
    else:
        assert not world.shard.groups
        with pytest.raises(UnknownMemberId):
            a.heartbeat()


async def test_an_empty_group_remembers_since_when(world: World) -> None:
    consumer = world.consumer()
    await world.stable(consumer)
    await consumer.commit(5)
    assert await consumer.leave() is None
    since_ms = world.group().state_since_ms
    await world.clock.elapse(world.config.offsets_retention_ms / 2)
    await world.restart()
    assert world.state is GroupState.EMPTY
    assert world.group().state_since_ms == since_ms
    assert world.group().protocol_type == "consumer"
    await world.clock.elapse(world.config.offsets_retention_ms / 2 + world.config.retention_check_interval_ms)
    assert not world.shard.groups


async def test_a_deleted_group_stays_deleted(world: World) -> None:
    await world.commit({"t": 1})
    consumer = world.consumer(group_id="h")
    joining = consumer.start_join()
    await world.clock.elapse(FORMING_MS)
    await joining
    await consumer.start_sync({consumer.member_id: b""})
    await world.coordinator.delete_groups(["g"])
    await world.restart()
    assert list(world.shard.groups) == ["h"]


async def test_while_it_loads_clients_are_asked_to_try_again(world: World) -> None:
    await world.commit({"t": 1})
    world.coordinator.on_resigned(0, world.epoch)
    with pytest.raises(NotCoordinator):
        await world.committed()
    world.coordinator.on_leader(0, world.epoch + 1, world.log)
    with pytest.raises(CoordinatorLoadInProgress):
        await world.committed()
    with pytest.raises(CoordinatorLoadInProgress):
        world.coordinator.list_groups()
    await world.coordinator.loaded()
    assert await world.committed() == {("t", 0): 1}


async def test_a_storage_that_fails_under_a_commit_is_loaded_again(world: World) -> None:
    consumer = world.consumer()
    await world.stable(consumer)
    await consumer.commit(1)
    world.log.commits_at_once = False
    committing = world.start_task(consumer.commit(2))
    await settle()
    world.log.fail(StorageFailed("flush failed"))
    assert await outcome(committing) is CoordinatorNotAvailable
    with pytest.raises(CoordinatorNotAvailable):
        consumer.heartbeat()
    world.log.commits_at_once = True
    await world.clock.elapse(1_000)
    await world.coordinator.loaded()
    consumer.heartbeat()
    assert (await world.committed())[("t", 0)] in (1, 2)


async def test_thousands_of_groups_come_back(world: World) -> None:
    for number in range(3_000):
        offsets = [OffsetToCommit("t", partition, number) for partition in range(3)]
        world.start_task(
            world.coordinator.commit_offsets(CommitRequest(group_id=f"g{number}", offsets=offsets))
        )
    await settle()
    before = {name: group.offsets for name, group in world.shard.groups.items()}
    await world.restart()
    assert {name: group.offsets for name, group in world.shard.groups.items()} == before
    assert len(before) == 3_000
