"""Joining: who is let in, under which id, and how the first generation comes together."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.group_world import (
    FORMING_MS,
    INITIAL_DELAY_MS,
    REBALANCE_MS,
    SESSION_MS,
    World,
    keep_alive,
    outcome,
    subscription,
)
from tests.support.simulated_clock import settle

from mainstem.core.errors import (
    GroupMaxSizeReached,
    InconsistentGroupProtocol,
    InvalidGroupId,
    InvalidSessionTimeout,
    MemberIdRequired,
    RebalanceInProgress,
    UnknownMemberId,
)
from mainstem.core.groups import join as join_module
from mainstem.core.groups import shard as shard_module
from mainstem.core.groups.config import GroupConfig
from mainstem.core.groups.states import GroupState

# --- ids


async def test_a_new_member_is_told_its_id_and_comes_back_with_it(world: World) -> None:
    consumer = world.consumer("billing")
    with pytest.raises(MemberIdRequired) as told:
        await consumer.join_once()
    consumer.member_id = told.value.member_id
    assert consumer.member_id == "billing-1"
    assert list(world.group().pending_members) == ["billing-1"]
    joining = consumer.start_join()
    assert await outcome(joining) == "waits"
    assert not world.group().pending_members
    await world.clock.elapse(INITIAL_DELAY_MS)
    assert (await joining).member_id == "billing-1"


async def test_an_old_client_is_let_in_at_once(world: World) -> None:
    consumer = world.consumer("old", needs_member_id=False)
    joining = world.start_task(consumer.join_once())
    await world.clock.elapse(INITIAL_DELAY_MS)
    assert (await joining).member_id.startswith("old-")


async def test_an_id_that_is_not_used_in_time_is_forgotten(world: World) -> None:
    consumer = world.consumer()
    with pytest.raises(MemberIdRequired) as told:
        await consumer.join_once()
    await world.clock.elapse(SESSION_MS)
    consumer.member_id = told.value.member_id
    with pytest.raises(UnknownMemberId):
        await consumer.join_once()


async def test_a_pending_id_holds_a_rebalance_up_until_it_is_used_or_forgotten(world: World) -> None:
    first = world.consumer("first")
    await world.stable(first)
    second = world.consumer("second", session_ms=7_000)
    with pytest.raises(MemberIdRequired) as told:
        await second.join_once()
    rejoin = first.start_join()  # the leader asks for a rebalance
    assert await outcome(rejoin) == "waits"
    await world.clock.elapse(7_000)
    assert rejoin.done()
    second.member_id = told.value.member_id
    with pytest.raises(UnknownMemberId):
        await second.join_once()


@pytest.mark.parametrize("group_exists", [False, True])
async def test_an_id_that_nobody_gave_is_refused(world: World, group_exists: bool) -> None:
    if group_exists:
        await world.stable(world.consumer("other"))
    consumer = world.consumer()
    consumer.member_id = "made up"
    with pytest.raises(UnknownMemberId):
        await consumer.join_once()
    if not group_exists:
        assert not world.shard.groups


# --- who is refused


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001, 0, -1])
async def test_session_time_outs_out_of_bounds(world: World, session_ms: int) -> None:
    with pytest.raises(InvalidSessionTimeout, match="6000 and 1800000"):
        await world.consumer(session_ms=session_ms).join()
    assert not world.shard.groups


async def test_a_group_needs_a_name(world: World) -> None:
    with pytest.raises(InvalidGroupId):
        await world.consumer(group_id="").join()


@pytest.mark.parametrize("more", [{"protocol_type": ""}, {"protocols": {}}])
async def test_a_member_without_protocols_makes_no_group(world: World, more: dict[str, object]) -> None:
    consumer = world.consumer(**more)
    if "protocols" in more:
        consumer.change_protocols({})
    with pytest.raises(InconsistentGroupProtocol):
        await consumer.join()
    assert not world.shard.groups


async def test_members_must_share_a_protocol_and_a_type(world: World) -> None:
    await world.stable(world.consumer("a", protocols={"range": b"", "sticky": b""}))
    for stranger in (
        world.consumer("b", protocols={"other": b""}),
        world.consumer("b", protocol_type="connect"),
    ):
        with pytest.raises(InconsistentGroupProtocol):
            await stranger.join()
    assert world.state is GroupState.STABLE
    joining = world.consumer("b", protocols={"sticky": b"", "other": b""}).start_join()
    assert await outcome(joining) == "waits"
    assert world.state is GroupState.PREPARING


async def test_an_empty_group_may_be_taken_by_another_type(world: World) -> None:
    first = world.consumer("a")
    await world.stable(first)
    assert await first.leave() is None
    other = world.consumer("b", protocol_type="connect", protocols={"eager": b""})
    joining = other.start_join()
    await world.clock.elapse(INITIAL_DELAY_MS)
    assert (await joining).protocol_type == "connect"


async def test_a_full_group_takes_nobody_more(world: World) -> None:
    world.coordinator.update_config(GroupConfig(initial_rebalance_delay_ms=INITIAL_DELAY_MS, max_size=2))
    consumers = [world.consumer(name) for name in "abc"]
    joins = [consumer.start_join() for consumer in consumers]
    await world.clock.elapse(FORMING_MS)
    outcomes = [await outcome(join) for join in joins]
    assert outcomes.count(GroupMaxSizeReached) == 1
    inside = [c for c, result in zip(consumers, outcomes, strict=True) if result is not GroupMaxSizeReached]
    await asyncio.gather(*[consumer.start_sync() for consumer in inside])
    with pytest.raises(GroupMaxSizeReached):
        await world.consumer("d").join()
    assert world.state is GroupState.STABLE
    rejoins = [consumer.start_join() for consumer in inside]  # who is in may come again
    await settle()
    assert all(rejoin.done() for rejoin in rejoins) or world.state is GroupState.PREPARING
    await world.clock.elapse(REBALANCE_MS)
    await asyncio.gather(*rejoins)


async def test_a_group_that_is_too_large_now_shrinks_at_the_next_rebalance(world: World) -> None:
    consumers = [world.consumer(name) for name in "abc"]
    await world.stable(*consumers)
    world.coordinator.update_config(GroupConfig(initial_rebalance_delay_ms=INITIAL_DELAY_MS, max_size=1))
    leader = next(consumer for consumer in consumers if consumer.leads)
    others = [consumer for consumer in consumers if consumer is not leader]
    rejoin = leader.start_join()
    await settle()
    for other in others:
        with pytest.raises(GroupMaxSizeReached):
            await other.join_once()
    await world.clock.elapse(REBALANCE_MS)
    assert (await rejoin).member_id == leader.member_id
    assert list(world.group().members) == [leader.member_id]


async def test_pending_ids_are_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join_module, "MAX_PENDING_MEMBERS", 3)
    for _ in range(3):
        with pytest.raises(MemberIdRequired):
            await world.consumer().join_once()
    with pytest.raises(GroupMaxSizeReached):
        await world.consumer().join_once()
    await world.clock.elapse(SESSION_MS)
    with pytest.raises(MemberIdRequired):
        await world.consumer().join_once()
    await world.clock.elapse(SESSION_MS)


async def test_groups_that_are_only_asked_for_are_bounded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_module, "MAX_UNSTORED_GROUPS", 5)
    for number in range(5):
        with pytest.raises(MemberIdRequired):
            await world.consumer(group_id=f"g{number}").join_once()
    with pytest.raises(Exception, match="too many new groups"):
        await world.consumer(group_id="one more").join_once()
    await world.clock.elapse(SESSION_MS)
    await world.clock.elapse(world.config.retention_check_interval_ms)
    assert not world.shard.groups
    with pytest.raises(MemberIdRequired):
        await world.consumer(group_id="one more").join_once()
    await world.clock.elapse(SESSION_MS)


# --- the first generation


async def test_the_first_generation_has_all_who_came_in_the_initial_delay(world: World) -> None:
    consumers = [world.consumer(name) for name in "abc"]
    joins = []
    for consumer in consumers:
        joins.append(consumer.start_join())
        await world.clock.elapse(1_000)
    assert not any(join.done() for join in joins)
    await world.clock.elapse(INITIAL_DELAY_MS)
    results = await asyncio.gather(*joins)
    assert {result.generation for result in results} == {1}
    assert len({result.leader_id for result in results}) == 1
    leader = results[0]  # who came first leads
    assert leader.leader_id == leader.member_id
    assert [member.member_id for member in leader.members] == [r.member_id for r in results]
    assert all(result.members == () for result in results[1:])
    assert all(not result.skip_assignment for result in results)
    assert world.state is GroupState.COMPLETING


async def test_the_initial_delay_goes_on_while_members_come_but_not_for_ever(world: World) -> None:
    first = world.consumer("first", rebalance_ms=10_000).start_join()
    passed_ms = 0
    others = []
    while not first.done():
        await world.clock.elapse(1_000)
        passed_ms += 1_000
        others.append(world.consumer("more", rebalance_ms=10_000).start_join())
        await settle()
        assert passed_ms <= 10_000
    assert passed_ms == 10_000
    await world.clock.elapse(10_000)
    await asyncio.gather(*others, return_exceptions=True)


async def test_no_initial_delay_where_none_is_wanted() -> None:
    world = await World(GroupConfig(initial_rebalance_delay_ms=0)).start()
    joining = world.consumer().start_join()
    await world.clock.elapse(0)
    assert (await joining).generation == 1
    await world.close()


async def test_a_new_group_whose_only_member_goes_away_ends_empty(world: World) -> None:
    old = world.consumer("old", needs_member_id=False)
    joining = world.start_task(old.join_once())
    await settle()
    joining.cancel()
    await settle()
    assert not world.group().members
    await world.clock.elapse(INITIAL_DELAY_MS)
    assert world.state is GroupState.EMPTY


async def test_the_protocol_with_most_votes_among_those_all_support_is_taken(world: World) -> None:
    joins = [
        world.consumer("a", protocols={"x": b"ax", "y": b"ay", "only-a": b""}).start_join(),
        world.consumer("b", protocols={"y": b"by", "x": b"bx"}).start_join(),
        world.consumer("c", protocols={"only-c": b"", "y": b"cy", "x": b"cx"}).start_join(),
    ]
    await world.clock.elapse(FORMING_MS)
    results = await asyncio.gather(*joins)
    assert {result.protocol for result in results} == {"y"}
    assert [member.metadata for member in results[0].members] == [b"ay", b"by", b"cy"]


# --- joining again


async def test_a_follower_that_joins_a_stable_group_again_unchanged_just_gets_its_generation(
    world: World,
) -> None:
    a, b = world.consumer("a"), world.consumer("b")
    await world.stable(a, b)
    leader, follower = (a, b) if a.leads else (b, a)
    again = await follower.join_once()
    assert again.generation == 1
    assert again.members == ()
    assert world.state is GroupState.STABLE
    leader.heartbeat()


async def test_the_leader_that_joins_again_asks_for_a_rebalance(world: World) -> None:
    a, b = world.consumer("a"), world.consumer("b")
    await world.stable(a, b)
    leader, follower = (a, b) if a.leads else (b, a)
    rejoin = leader.start_join()
    assert await outcome(rejoin) == "waits"
    with pytest.raises(RebalanceInProgress):
        follower.heartbeat()
    second = follower.start_join()
    await settle()
    assert (await rejoin).generation == (await second).generation == 2


async def test_new_metadata_of_a_follower_asks_for_a_rebalance(world: World) -> None:
    a, b = world.consumer("a"), world.consumer("b")
    await world.stable(a, b)
    leader, follower = (a, b) if a.leads else (b, a)
    follower.change_protocols({"range": subscription("t", "u")})
    rejoin = follower.start_join()
    assert await outcome(rejoin) == "waits"
    leading = await leader.join_once()
    assert (await rejoin).generation == 2
    assert subscription("t", "u") in [member.metadata for member in leading.members]


async def test_a_join_repeated_in_the_completing_phase_gets_the_same_answer(world: World) -> None:
    a, b = world.consumer("a"), world.consumer("b")
    joins = [a.start_join(), b.start_join()]
    await world.clock.elapse(FORMING_MS)
    first = await asyncio.gather(*joins)
    assert [await a.join_once(), await b.join_once()] == first
    assert world.state is GroupState.COMPLETING


async def test_a_join_repeated_while_it_waits_takes_the_place_of_the_first(world: World) -> None:
    consumer = world.consumer()
    first = consumer.start_join()
    await settle()
    second = consumer.start_join()
    assert await outcome(first) is RebalanceInProgress
    await world.clock.elapse(FORMING_MS)
    assert (await second).generation == 1


async def test_a_member_that_does_not_join_again_in_time_is_out(world: World) -> None:
    a, b, c = (world.consumer(name, rebalance_ms=20_000) for name in "abc")
    await world.stable(a, b, c)
    leader = next(each for each in (a, b, c) if each.leads)
    silent = next(each for each in (a, b, c) if each is not leader)
    third = next(each for each in (a, b, c) if each not in (leader, silent))
    joins = [leader.start_join(), third.start_join()]
    await keep_alive(world, 19_000, silent)  # alive, but it does not join
    assert not any(join.done() for join in joins)
    await keep_alive(world, 1_000, silent)
    results = await asyncio.gather(*joins)
    assert {result.generation for result in results} == {2}
    assert silent.member_id not in world.group().members
    with pytest.raises(UnknownMemberId):
        silent.heartbeat()


async def test_when_the_leader_stays_away_another_leads(world: World) -> None:
    a, b = world.consumer("a"), world.consumer("b")
    await world.stable(a, b)
    leader, follower = (a, b) if a.leads else (b, a)
    follower.change_protocols({"range": subscription("u")})
    rejoin = follower.start_join()
    await keep_alive(world, REBALANCE_MS, leader)
    result = await rejoin
    assert result.leader_id == follower.member_id
    assert [member.member_id for member in result.members] == [follower.member_id]


async def test_a_cancelled_request_is_a_member_all_the_same(world: World) -> None:
    """Its connection is gone, but it may come back under its id; if not, its session ends."""
    a, b = world.consumer("a"), world.consumer("b")
    await world.stable(a)
    joining = b.start_join()
    await settle()
    joining.cancel()
    await a.join_once()
    assert len(world.group().members) == 2
    syncing = a.start_sync()
    await settle()
    assert syncing.done()
    await keep_alive(world, REBALANCE_MS, a)
    assert b.member_id not in world.group().members
