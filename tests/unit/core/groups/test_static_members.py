"""Static members: one that comes back takes its own place, and its former self is fenced."""

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
    subscription,
)
from tests.support.simulated_clock import settle

from mainstem.core.errors import CoordinatorNotAvailable, FencedInstanceId, StorageFailed, UnknownMemberId
from mainstem.core.groups.states import GroupState


@pytest.fixture
async def trio(world: World) -> tuple[Consumer, Consumer, Consumer]:
    """A leader, a static follower "i", and another dynamic follower; all stable."""
    leader, static, other = world.consumer("a"), world.consumer("s", instance_id="i"), world.consumer("b")
    joins = [leader.start_join()]
    await settle()
    joins += [static.start_join(), other.start_join()]
    await world.clock.elapse(FORMING_MS)
    await asyncio.gather(*joins)
    await asyncio.gather(leader.start_sync(), static.start_sync(), other.start_sync())
    assert leader.leads
    return leader, static, other


def back(world: World, instance_id: str = "i", **more: object) -> Consumer:
    return world.consumer("s again", instance_id=instance_id, **more)  # type: ignore[arg-type]


async def test_it_needs_no_second_request_to_join(world: World) -> None:
    static = world.consumer("s", instance_id="i")
    joining = world.start_task(static.join_once())
    await world.clock.elapse(FORMING_MS)
    assert (await joining).member_id == "i-1"


async def test_coming_back_into_a_stable_group_disturbs_nobody(
    world: World, trio: tuple[Consumer, Consumer, Consumer]
) -> None:
    leader, static, other = trio
    again = back(world)
    result = await again.join_once()
    assert world.state is GroupState.STABLE
    assert (result.generation, result.leader_id, result.members) == (1, leader.member_id, ())
    assert again.member_id != static.member_id
    assert (await again.sync()).assignment == f"for {static.member_id}".encode()
    for stays in (leader, other):
        stays.heartbeat()
    with pytest.raises(FencedInstanceId):
        static.heartbeat()
    stored = world.group().stored
    assert stored is not None
    assert again.member_id in [member.member_id for member in stored.members]
    assert static.member_id not in [member.member_id for member in stored.members]


async def test_the_former_self_is_fenced_everywhere(
    world: World, trio: tuple[Consumer, Consumer, Consumer]
) -> None:
    _, static, _ = trio
    await back(world).join_once()
    for ask in (static.join_once(), static.sync(), static.commit(1)):
        assert await outcome(world.start_task(ask)) is FencedInstanceId
    assert type(await static.leave()) is FencedInstanceId


@pytest.mark.parametrize("can_skip", [True, False])
async def test_a_static_leader_that_comes_back_does_not_assign_anew(world: World, can_skip: bool) -> None:
    leader, follower = world.consumer("s", instance_id="i"), world.consumer("b")
    joins = [leader.start_join()]
    await settle()
    joins.append(follower.start_join())
    await world.clock.elapse(FORMING_MS)
    await asyncio.gather(*joins)
    await asyncio.gather(leader.start_sync(), follower.start_sync())
    again = back(world, can_skip_assignment=can_skip)
    result = await again.join_once()
    assert world.group().leader_id == again.member_id
    if can_skip:
        assert result.skip_assignment
        assert result.leader_id == again.member_id
        assert len(result.members) == 2
    else:  # told of its former self as the leader, an older client just asks for its assignment
        assert result.leader_id == leader.member_id
        assert result.members == ()
    assert (await again.sync({})).assignment == f"for {leader.member_id}".encode()
    assert world.state is GroupState.STABLE
    follower.heartbeat()


async def test_coming_back_with_another_protocol_is_a_rebalance(world: World) -> None:
    both = {"x": b"", "y": b""}
    a = world.consumer("a", protocols=both)
    static = world.consumer("s", instance_id="i", protocols={"x": b"", "y": b""})
    third = world.consumer("c", protocols={"y": b"", "x": b""})
    await world.stable(a, static, third)
    assert world.group().protocol == "x"
    again = back(world, protocols={"y": b"", "x": b""})
    joining = again.start_join()
    assert await outcome(joining) == "waits"
    assert world.state is GroupState.PREPARING
    await asyncio.gather(a.start_join(), third.start_join())
    assert (await joining).protocol == "y"


async def test_coming_back_with_a_new_subscription_is_told_to_the_leader(
    world: World, trio: tuple[Consumer, Consumer, Consumer]
) -> None:
    """The selected protocol stays, so the group does too; the member's subscription is the new one."""
    again = back(world, protocols={"range": subscription("u")})
    await again.join_once()
    assert world.group().is_subscribed_to("u")
    assert trio[0].leads


async def test_coming_back_during_a_rebalance_takes_the_place_that_waits(
    world: World, trio: tuple[Consumer, Consumer, Consumer]
) -> None:
    leader, static, other = trio
    joins = [leader.start_join(), static.start_join()]
    await settle()
    again = back(world)
    joining = again.start_join()
    assert await outcome(joins[1]) is FencedInstanceId
    assert await outcome(joining) == "waits"
    await other.join_once()
    assert (await joining).generation == (await joins[0]).generation == 2
    assert len(world.group().members) == 3


async def test_coming_back_while_the_assignment_is_awaited_is_a_rebalance(world: World) -> None:
    a, static = world.consumer("a"), world.consumer("s", instance_id="i")
    joins = [a.start_join(), static.start_join()]
    await world.clock.elapse(FORMING_MS)
    await asyncio.gather(*joins)
    syncing = static.start_sync()
    await settle()
    again = back(world).start_join()
    assert await outcome(syncing) is FencedInstanceId
    await a.join_once()
    assert (await again).generation == 2


async def test_a_static_member_that_is_away_keeps_its_place_until_its_session_ends(
    world: World, trio: tuple[Consumer, Consumer, Consumer]
) -> None:
    leader, static, other = trio
    await keep_alive(world, SESSION_MS - 1_000, leader, other)
    assert world.state is GroupState.STABLE
    again = back(world)
    await again.join_once()
    await keep_alive(world, SESSION_MS - 1_000, leader, other)
    assert world.state is GroupState.STABLE
    await keep_alive(world, 1_001, leader, other)
    assert world.state is GroupState.PREPARING
    assert static.request.instance_id not in world.group().static_members
    await asyncio.gather(leader.start_join(), other.start_join())


async def test_a_static_member_that_does_not_join_again_stays_in_until_its_session_ends(
    world: World,
) -> None:
    leader, static = world.consumer("a"), world.consumer("s", instance_id="i", session_ms=200_000)
    await world.stable(leader, static)
    leader.change_protocols({"range": subscription("t", "u")})
    rejoin = leader.start_join()
    await world.clock.elapse(REBALANCE_MS)
    result = await rejoin
    assert result.generation == 2
    assert static.member_id in world.group().members
    assert len(world.group().members) == 2


async def test_when_only_absent_static_members_are_left_nobody_leads(world: World) -> None:
    one, two = (world.consumer(n, instance_id=n, session_ms=200_000) for n in "ab")
    dynamic = world.consumer("d", session_ms=6_000)
    await world.stable(dynamic, one, two)
    await world.clock.elapse(6_000)  # the dynamic one is gone: a rebalance that nobody joins
    assert world.state is GroupState.PREPARING
    await world.clock.elapse(2 * REBALANCE_MS)
    assert world.state is GroupState.PREPARING
    rejoin = one.start_join()
    await world.clock.elapse(REBALANCE_MS)
    assert (await rejoin).leader_id == one.member_id
    await world.clock.elapse(400_000)
    assert world.state is GroupState.EMPTY


async def test_a_return_that_the_log_refuses_changes_nothing(
    world: World, trio: tuple[Consumer, Consumer, Consumer]
) -> None:
    _, static, _ = trio
    world.log.refusal = StorageFailed("full")
    assert await outcome(back(world).start_join()) is CoordinatorNotAvailable
    world.log.refusal = None
    static.heartbeat()
    assert (await static.sync()).assignment == f"for {static.member_id}".encode()


async def test_an_unknown_instance_with_a_member_id_is_refused(
    world: World, trio: tuple[Consumer, Consumer, Consumer]
) -> None:
    stranger = world.consumer("x", instance_id="other")
    stranger.member_id = trio[1].member_id
    with pytest.raises(UnknownMemberId):
        await stranger.join_once()
