"""From a formed generation to a stable one: who brings the assignment, who gets it, and who is late."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.group_world import (
    FORMING_MS,
    REBALANCE_MS,
    Consumer,
    World,
    keep_alive,
    outcome,
    subscription,
)
from tests.support.simulated_clock import settle

from mainstem.core.errors import (
    CoordinatorNotAvailable,
    IllegalGeneration,
    InconsistentGroupProtocol,
    NotCoordinator,
    RebalanceInProgress,
    StorageFailed,
    UnknownMemberId,
)
from mainstem.core.groups.requests import SyncRequest
from mainstem.core.groups.states import GroupState


@pytest.fixture
async def pair(world: World) -> tuple[Consumer, Consumer]:
    """The leader and a follower of a generation that waits for its assignment."""
    consumers = world.consumer("a"), world.consumer("b")
    joins = [consumer.start_join() for consumer in consumers]
    await world.clock.elapse(FORMING_MS)
    await asyncio.gather(*joins)
    assert world.state is GroupState.COMPLETING
    return (consumers[0], consumers[1]) if consumers[0].leads else (consumers[1], consumers[0])


async def test_members_get_what_the_leader_assigned(world: World, pair: tuple[Consumer, Consumer]) -> None:
    leader, follower = pair
    waiting = follower.start_sync()
    assert await outcome(waiting) == "waits"
    led = await leader.sync({leader.member_id: b"one", follower.member_id: b"two"})
    assert led.assignment == b"one"
    assert (led.protocol_type, led.protocol) == ("consumer", "range")
    assert (await waiting).assignment == b"two"
    assert world.state is GroupState.STABLE
    assert (await follower.sync()).assignment == b"two"  # and again
    assert world.coordinator.counters.rebalances == 1


async def test_who_comes_later_gets_it_too(pair: tuple[Consumer, Consumer]) -> None:
    leader, follower = pair
    await leader.sync({follower.member_id: b"two", "nobody": b"three"})
    assert (await follower.sync()).assignment == b"two"
    assert (await leader.sync({})).assignment == b""  # was not in its own assignment


async def test_assignments_go_out_only_once_they_are_in_the_log(
    world: World, pair: tuple[Consumer, Consumer]
) -> None:
    leader, follower = pair
    world.log.commits_at_once = False
    syncs = [follower.start_sync(), leader.start_sync()]
    await settle()
    late = follower.start_sync()
    for task in (syncs[1], late):
        assert await outcome(task) == "waits"
    world.log.commit()
    assert isinstance(await outcome(syncs[1]), tuple)
    world.log.commit()
    assert isinstance(await outcome(late), tuple)
    world.log.commits_at_once = True


async def test_an_assignment_that_was_not_stored_is_not_given_out(
    world: World, pair: tuple[Consumer, Consumer]
) -> None:
    leader, follower = pair
    world.log.refusal = StorageFailed("full")
    syncs = [follower.start_sync(), leader.start_sync()]
    assert [await outcome(sync) for sync in syncs] == [CoordinatorNotAvailable] * 2
    assert world.state is GroupState.PREPARING  # all are asked to join again
    world.log.refusal = None
    rejoins = [leader.start_join(), follower.start_join()]
    assert [result.generation for result in await asyncio.gather(*rejoins)] == [2, 2]
    await asyncio.gather(leader.start_sync(), follower.start_sync())
    assert world.state is GroupState.STABLE


async def test_a_shard_given_up_while_the_assignment_commits_tells_all(
    world: World, pair: tuple[Consumer, Consumer]
) -> None:
    leader, follower = pair
    world.log.commits_at_once = False
    syncs = [follower.start_sync(), leader.start_sync()]
    await settle()
    world.coordinator.on_resigned(0, 2)
    assert [await outcome(sync) for sync in syncs] == [NotCoordinator] * 2


async def test_a_rebalance_overtakes_an_assignment_that_is_being_stored(
    world: World, pair: tuple[Consumer, Consumer]
) -> None:
    leader, follower = pair
    world.log.commits_at_once = False
    syncs = [follower.start_sync(), leader.start_sync()]
    await settle()
    third = world.consumer("c").start_join()
    await settle()
    assert world.state is GroupState.PREPARING
    world.log.commit()
    assert await outcome(syncs[0]) is RebalanceInProgress
    world.log.commits_at_once = True
    world.log.commit()
    rejoins = [leader.start_join(), follower.start_join()]
    results = await asyncio.gather(third, *rejoins)
    assert {result.generation for result in results} == {2}


async def test_syncs_that_do_not_fit(world: World, pair: tuple[Consumer, Consumer]) -> None:
    leader, follower = pair

    async def sync(**changes: object) -> object:
        fields = {
            "group_id": "g",
            "member_id": follower.member_id,
            "generation": 1,
            "protocol_type": "consumer",
            "protocol": "range",
        }
        request = SyncRequest(**{**fields, **changes})  # type: ignore[arg-type]
        return await outcome(world.start_task(world.coordinator.sync(request)))

    assert await sync(group_id="none") is UnknownMemberId
    assert await sync(member_id="nobody") is UnknownMemberId
    assert await sync(generation=0) is IllegalGeneration
    assert await sync(generation=2) is IllegalGeneration
    assert await sync(protocol="sticky") is InconsistentGroupProtocol
    assert await sync(protocol_type="connect") is InconsistentGroupProtocol
    assert await sync(instance_id="static") is UnknownMemberId
    waiting = world.start_task(
        world.coordinator.sync(SyncRequest(group_id="g", member_id=follower.member_id, generation=1))
    )  # an older client says neither
    assert await outcome(waiting) == "waits"
    await leader.sync()
    await waiting


async def test_a_sync_during_the_next_rebalance_is_sent_back(world: World) -> None:
    a, b = world.consumer("a"), world.consumer("b")
    await world.stable(a, b)
    leader, follower = (a, b) if a.leads else (b, a)
    rejoin = leader.start_join()
    await settle()
    assert await outcome(follower.start_sync()) is RebalanceInProgress
    await follower.join_once()
    await rejoin


async def test_a_sync_repeated_while_it_waits_takes_the_place_of_the_first(
    pair: tuple[Consumer, Consumer],
) -> None:
    leader, follower = pair
    first, second = follower.start_sync(), follower.start_sync()
    assert await outcome(first) is RebalanceInProgress
    await leader.sync()
    assert (await second).assignment


async def test_a_leader_that_never_assigns_is_out_and_the_others_join_again(
    world: World, pair: tuple[Consumer, Consumer]
) -> None:
    leader, follower = pair
    waiting = follower.start_sync()
    await keep_alive(world, REBALANCE_MS - 1_000, leader, follower)
    assert not waiting.done()
    await keep_alive(world, 1_000, leader, follower)
    assert await outcome(waiting) is RebalanceInProgress
    with pytest.raises(UnknownMemberId):
        leader.heartbeat()
    result = await follower.join_once()
    assert result.leader_id == follower.member_id
    assert result.generation == 2


async def test_a_follower_that_never_asks_is_out(world: World, pair: tuple[Consumer, Consumer]) -> None:
    leader, follower = pair
    await leader.sync()
    await keep_alive(world, REBALANCE_MS, leader, follower)
    with pytest.raises(UnknownMemberId):
        follower.heartbeat()
    with pytest.raises(RebalanceInProgress):
        leader.heartbeat()
    assert (await leader.join_once()).generation == 2


async def test_who_is_out_before_the_assignment_comes_does_not_get_it(
    world: World, pair: tuple[Consumer, Consumer]
) -> None:
    leader, follower = pair
    waiting = follower.start_sync()
    await settle()
    assert await follower.leave() is None
    assert await outcome(waiting) is UnknownMemberId
    assert world.state is GroupState.PREPARING
    assert await outcome(leader.start_sync()) is RebalanceInProgress
    assert (await leader.join_once()).generation == 2


async def test_a_cooperative_rebalance_goes_round_twice(world: World) -> None:
    """Revoke first, assign then: two generations in a row, nobody loses its membership."""
    protocols = {"cooperative-sticky": subscription("t")}
    a, b = world.consumer("a", protocols=protocols), world.consumer("b", protocols=protocols)
    await world.stable(a)
    joining = b.start_join()
    await settle()
    with pytest.raises(RebalanceInProgress):
        a.heartbeat()
    rejoin = a.start_join()
    await asyncio.gather(joining, rejoin)
    assert a.generation == b.generation == 2
    await asyncio.gather(a.start_sync({a.member_id: b"p0"}), b.start_sync())  # p1 is revoked first
    a.change_protocols({"cooperative-sticky": subscription("t") + b"owns p0"})
    rejoin = a.start_join()
    await settle()
    with pytest.raises(RebalanceInProgress):
        b.heartbeat()
    second = b.start_join()
    await asyncio.gather(rejoin, second)
    assert a.generation == b.generation == 3
    syncs = [b.start_sync(), a.start_sync({a.member_id: b"p0", b.member_id: b"p1"})]
    assert [result.assignment for result in await asyncio.gather(*syncs)] == [b"p1", b"p0"]
    assert world.coordinator.counters.rebalances == 3
