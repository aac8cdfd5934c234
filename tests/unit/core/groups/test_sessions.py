"""Signs of life: heartbeats, sessions that end, members that leave."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.group_world import (
    FORMING_MS,
    REBALANCE_MS,
    SESSION_MS,
    Consumer,
    World,
    keep_alive,
    outcome,
)
from tests.support.simulated_clock import settle

from mainstem.core.errors import (
    FencedInstanceId,
    IllegalGeneration,
    InvalidGroupId,
    MemberIdRequired,
    NotCoordinator,
    RebalanceInProgress,
    StorageFailed,
    UnknownMemberId,
)
from mainstem.core.groups.states import GroupState


@pytest.fixture
async def pair(world: World) -> tuple[Consumer, Consumer]:
    a, b = world.consumer("a"), world.consumer("b")
    await world.stable(a, b)
    return (a, b) if a.leads else (b, a)


# --- heartbeats


async def test_heartbeats_are_checked(world: World, pair: tuple[Consumer, Consumer]) -> None:
    leader, _ = pair
    beat = world.coordinator.heartbeat
    beat("g", leader.member_id, 1)
    for wrong, error in (
        (("", leader.member_id, 1), InvalidGroupId),
        (("none", leader.member_id, 1), UnknownMemberId),
        (("g", "nobody", 1), UnknownMemberId),
        (("g", "", 1), UnknownMemberId),
        (("g", leader.member_id, 0), IllegalGeneration),
        (("g", leader.member_id, 2), IllegalGeneration),
        (("g", leader.member_id, 1, "static"), UnknownMemberId),
    ):
        with pytest.raises(error):
            beat(*wrong)  # type: ignore[arg-type]
    assert world.coordinator.counters.heartbeats == 1


async def test_heartbeats_while_the_group_changes(world: World) -> None:
    consumer = world.consumer()
    joining = consumer.start_join()
    await world.clock.elapse(FORMING_MS)
    await joining
    consumer.heartbeat()  # the generation is formed: all is well
    await consumer.sync()
    consumer.heartbeat()
    other = world.consumer("b").start_join()
    await settle()
    with pytest.raises(RebalanceInProgress):
        consumer.heartbeat()
    await consumer.join_once()
    await other
    assert await consumer.leave() is None
    with pytest.raises(UnknownMemberId):
        consumer.heartbeat()


async def test_a_heartbeat_while_the_shard_loads_is_fine_and_elsewhere_is_not(
    world: World, pair: tuple[Consumer, Consumer]
) -> None:
    leader, _ = pair
    world.coordinator.on_resigned(0, world.epoch)
    with pytest.raises(NotCoordinator):
        leader.heartbeat()
    world.coordinator.on_leader(0, world.epoch + 1, world.log)
    leader.heartbeat()
    await world.coordinator.loaded()
    leader.heartbeat()


# --- sessions


async def test_a_session_lasts_as_long_as_it_is_kept_up(
    world: World, pair: tuple[Consumer, Consumer]
) -> None:
    leader, follower = pair
    await keep_alive(world, 10 * SESSION_MS, leader, follower)
    assert world.state is GroupState.STABLE
    await keep_alive(world, SESSION_MS - 1, leader)
    assert world.state is GroupState.STABLE
    await keep_alive(world, 2, leader)
    assert world.state is GroupState.PREPARING
    assert world.coordinator.counters.session_timeouts == 1
    with pytest.raises(UnknownMemberId):
        follower.heartbeat()
    assert (await leader.join_once()).generation == 2


async def test_one_timer_a_member_whatever_it_sends(world: World, pair: tuple[Consumer, Consumer]) -> None:
    before = world.clock.pending
    for _ in range(100):
        for consumer in pair:
            consumer.heartbeat()
            await consumer.commit(1)
    assert world.clock.pending == before


async def test_a_commit_is_a_sign_of_life_too(world: World, pair: tuple[Consumer, Consumer]) -> None:
    leader, follower = pair
    for _ in range(5):
        await keep_alive(world, SESSION_MS - 2_000, leader)
        assert await follower.commit(7) is None
    assert world.state is GroupState.STABLE


async def test_a_member_that_waits_for_us_does_not_time_out(world: World) -> None:
    a, b = world.consumer("a"), world.consumer("b")
    await world.stable(a, b)
    leader, follower = (a, b) if a.leads else (b, a)
    waiting = leader.start_join()
    await keep_alive(world, REBALANCE_MS - 1, follower)
    assert not waiting.done()
    await follower.join_once()
    assert (await waiting).generation == 2
    syncing = (follower if leader.leads else leader).start_sync()
    assigning = leader if leader.leads else follower
    await keep_alive(world, REBALANCE_MS - 2_000, assigning)
    assert await outcome(syncing) == "waits"
    await assigning.sync()
    await syncing


async def test_a_new_member_that_is_gone_while_it_waits_is_out_at_last(world: World) -> None:
    """It cannot send heartbeats yet; but it must not hold a place for ever either."""
    holder = world.consumer("holder", rebalance_ms=1_000_000)
    await world.stable(holder)
    joining = world.consumer("new", rebalance_ms=1_000_000).start_join()
    await keep_alive(world, world.config.new_member_join_timeout_ms - 1_000, holder)
    assert await outcome(joining) == "waits"
    await keep_alive(world, 2_000, holder)
    assert await outcome(joining) is UnknownMemberId
    await holder.join_once()


async def test_when_all_sessions_end_the_group_is_empty_and_the_log_says_so(
    world: World, pair: tuple[Consumer, Consumer]
) -> None:
    await world.clock.elapse(SESSION_MS)
    assert world.state is GroupState.EMPTY
    stored = world.group().stored
    assert stored is not None
    assert stored.members == ()
    assert stored.generation == 2
    assert stored.protocol_type == "consumer"
    for consumer in pair:
        with pytest.raises(UnknownMemberId):
            consumer.heartbeat()


async def test_an_end_that_the_log_refuses_is_tried_again(
    world: World, pair: tuple[Consumer, Consumer]
) -> None:
    world.log.refusal = StorageFailed("full")
    await world.clock.elapse(SESSION_MS + 5_000)
    assert world.state is GroupState.PREPARING
    assert not world.group().members
    world.log.refusal = None
    await world.clock.elapse(1_000)
    assert world.state is GroupState.EMPTY
    assert pair


async def test_somebody_may_come_while_the_log_refuses_the_end(
    world: World, pair: tuple[Consumer, Consumer]
) -> None:
    world.log.refusal = StorageFailed("full")
    await world.clock.elapse(SESSION_MS + 500)
    joining = world.consumer("new", needs_member_id=False).start_join()
    await world.clock.elapse(REBALANCE_MS)
    assert (await joining).generation == 2
    world.log.refusal = None
    assert pair


# --- leaving


async def test_who_leaves_makes_room_at_once(world: World, pair: tuple[Consumer, Consumer]) -> None:
    leader, follower = pair
    assert await follower.leave() is None
    assert world.state is GroupState.PREPARING
    with pytest.raises(UnknownMemberId):
        follower.heartbeat()
    with pytest.raises(RebalanceInProgress):
        leader.heartbeat()
    assert (await leader.join_once()).generation == 2
    await leader.sync()
    assert await leader.leave() is None
    assert world.state is GroupState.EMPTY


async def test_several_leave_in_one_request_each_with_its_answer(world: World) -> None:
    dynamic, static = world.consumer("a"), world.consumer("b", instance_id="i")
    stays = world.consumer("c")
    await world.stable(stays, dynamic, static)
    errors = await world.leave(
        (dynamic.member_id, None),
        ("", "i"),
        ("nobody", None),
        ("", "unknown instance"),
        (stays.member_id, "i"),
    )
    assert [type(error) for error in errors] == [
        type(None),
        type(None),
        UnknownMemberId,
        UnknownMemberId,
        UnknownMemberId,
    ]
    assert list(world.group().members) == [stays.member_id]


async def test_a_static_member_is_not_removed_under_another_id(world: World) -> None:
    static = world.consumer("b", instance_id="i")
    await world.stable(static)
    errors = await world.leave(("someone else", "i"))
    assert [type(error) for error in errors] == [FencedInstanceId]
    assert world.state is GroupState.STABLE


async def test_a_pending_member_may_leave(world: World) -> None:
    with pytest.raises(MemberIdRequired) as told:
        await world.consumer().join_once()
    assert await world.leave((told.value.member_id, None)) == [None]
    assert not world.shard.groups


async def test_leaving_a_group_that_is_not_there(world: World) -> None:
    with pytest.raises(UnknownMemberId):
        await world.leave(("a", None))


async def test_the_last_that_a_rebalance_waited_for_leaves_and_it_completes(
    pair: tuple[Consumer, Consumer],
) -> None:
    leader, follower = pair
    waiting = leader.start_join()
    assert await outcome(waiting) == "waits"
    assert await follower.leave() is None
    assert (await waiting).generation == 2


async def test_who_leaves_while_it_waits_is_told(world: World) -> None:
    a, b = world.consumer("a"), world.consumer("b")
    joins = [a.start_join(), b.start_join()]
    await settle()
    assert await a.leave() is None
    assert await outcome(joins[0]) is UnknownMemberId
    await world.clock.elapse(FORMING_MS)
    assert (await joins[1]).leader_id == b.member_id
    assert await b.leave() is None
    await asyncio.gather(*joins, return_exceptions=True)
