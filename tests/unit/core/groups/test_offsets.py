"""Committed offsets: who may commit, what is kept, when it expires, what tools may do."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.group_world import FORMING_MS, SESSION_MS, Consumer, World, outcome, subscription
from tests.support.simulated_clock import settle

from mainstem.core.errors import (
    CoordinatorNotAvailable,
    FencedInstanceId,
    GroupIdNotFound,
    GroupSubscribedToTopic,
    IllegalGeneration,
    InvalidCommitOffsetSize,
    NonEmptyGroup,
    NotCoordinator,
    OffsetMetadataTooLarge,
    RebalanceInProgress,
    StorageFailed,
    UnknownMemberId,
)
from mainstem.core.groups.config import DAY_MS
from mainstem.core.groups.requests import CommitRequest, FetchedOffset, OffsetToCommit
from mainstem.core.groups.states import GroupState
from mainstem.log.errors import BatchTooLarge
from mainstem.model.ids import TopicId

RETENTION_MS = 7 * DAY_MS


async def live_on(world: World, consumer: Consumer, days: int) -> None:
    for _ in range(days * 60):
        await world.clock.elapse(DAY_MS / 60)
        consumer.heartbeat()


async def sweep(world: World) -> None:
    await world.clock.elapse(world.config.retention_check_interval_ms)


# --- committing


async def test_a_consumer_without_a_group_commits_and_reads_back(world: World) -> None:
    assert await world.commit({"t": 5, "u": 0}) == [None, None]
    assert await world.commit({"t": 4}) == [None]  # backwards is fine
    assert await world.committed() == {("t", 0): 4, ("u", 0): 0}
    assert world.coordinator.counters.commits == 3
    assert world.state is GroupState.EMPTY


async def test_all_that_a_commit_says_is_kept(world: World) -> None:
    offset = OffsetToCommit("t", 7, 2**62, 11, "metadata ü", TopicId(b"i" * 16))
    await world.coordinator.commit_offsets(CommitRequest(group_id="g", offsets=[offset]))
    (found,) = await world.coordinator.fetch_offsets("g", [("t", [7])])
    assert found == FetchedOffset("t", 7, 2**62, 11, "metadata ü", TopicId(b"i" * 16))
    stored = world.group().offsets["t"][7]
    assert (stored.commit_timestamp_ms, stored.topic_id) == (world.clock.now_ms(), b"i" * 16)


async def test_what_was_never_committed_is_said_so(world: World) -> None:
    assert await world.coordinator.fetch_offsets("none") == []
    (found,) = await world.coordinator.fetch_offsets("none", [("t", [3])])
    assert found == FetchedOffset("t", 3, -1, -1, "")
    assert not world.shard.groups


async def test_metadata_is_bounded_item_by_item(world: World) -> None:
    limit = world.config.offset_metadata_max_bytes
    wanted = [
        OffsetToCommit("a", 0, 1, -1, "x" * limit),
        OffsetToCommit("b", 0, 1, -1, "x" * (limit + 1)),
        OffsetToCommit("c", 0, 1, -1, None),
    ]
    errors = await world.coordinator.commit_offsets(CommitRequest(group_id="g", offsets=wanted))
    assert [type(error) for error in errors] == [type(None), OffsetMetadataTooLarge, type(None)]
    assert sorted(await world.committed()) == [("a", 0), ("c", 0)]


async def test_a_commit_of_nothing_good_writes_nothing(world: World) -> None:
    wanted = [OffsetToCommit("b", 0, 1, -1, "x" * 10_000)]
    await world.coordinator.commit_offsets(CommitRequest(group_id="g", offsets=wanted))
    await world.coordinator.commit_offsets(CommitRequest(group_id="g", offsets=[]))
    assert world.log.end_offset == 0


async def test_a_commit_is_answered_when_it_is_committed(world: World) -> None:
    world.log.commits_at_once = False
    committing = world.start_task(world.commit({"t": 5}))
    reading = world.start_task(world.committed())
    assert await outcome(committing) == "waits"
    assert await outcome(reading) == "waits"  # what it would say is not committed yet
    world.log.commit()
    await settle()
    world.log.commit()
    assert await outcome(committing) == [None]
    assert await outcome(reading) == {("t", 0): 5}


@pytest.mark.parametrize(
    ("refusal", "told"),
    [(StorageFailed("full"), CoordinatorNotAvailable), (BatchTooLarge(2, 1), InvalidCommitOffsetSize)],
)
async def test_a_commit_that_the_log_refuses(world: World, refusal: Exception, told: type[Exception]) -> None:
    await world.commit({"t": 1})
    world.log.refusal = refusal
    with pytest.raises(told):
        await world.commit({"t": 5})
    world.log.refusal = None
    assert await world.committed() == {("t", 0): 1}


async def test_many_commits_of_a_turn_are_one_append(world: World) -> None:
    await asyncio.gather(*[world.commit({f"t{n}": n}) for n in range(100)])
    assert world.log.appends == 1
    assert len(await world.committed()) == 100


# --- fences


async def test_members_commit_in_their_generation_and_nobody_else_does(world: World) -> None:
    a, b = world.consumer("a"), world.consumer("b")
    await world.stable(a, b)
    assert await a.commit(1) is None
    assert await b.commit(2, "u") is None
    for task, error in (
        (a.commit(3, generation=0), IllegalGeneration),
        (a.commit(3, generation=2), IllegalGeneration),
        (a.commit(3, generation=-1), IllegalGeneration),
        (world.commit({"t": 3}), UnknownMemberId),  # a tool, while the group lives
        (world.commit({"t": 3}, member_id="nobody", generation=1), UnknownMemberId),
        (world.commit({"t": 3}, member_id=a.member_id, generation=1, instance_id="i"), UnknownMemberId),
    ):
        assert await outcome(world.start_task(task)) is error
    assert await world.committed() == {("t", 0): 1, ("u", 0): 2}


async def test_commits_through_a_rebalance(world: World) -> None:
    """While members are asked to join again they may still commit; once the next generation is formed only
    its own numbers count, and only when its assignment is out."""
    a, b = world.consumer("a"), world.consumer("b")
    await world.stable(a, b)
    leader, follower = (a, b) if a.leads else (b, a)
    rejoin = leader.start_join()
    await settle()
    assert world.state is GroupState.PREPARING
    assert await follower.commit(5) is None
    second = follower.start_join()
    await asyncio.gather(rejoin, second)
    assert world.state is GroupState.COMPLETING
    assert await outcome(world.start_task(follower.commit(6, generation=1))) is IllegalGeneration
    assert await outcome(world.start_task(follower.commit(6))) is RebalanceInProgress
    await asyncio.gather(a.start_sync(), b.start_sync())
    assert await follower.commit(7) is None
    assert await outcome(world.start_task(follower.commit(8, generation=1))) is IllegalGeneration
    assert await world.committed() == {("t", 0): 7}


async def test_a_member_that_is_out_may_not_commit(world: World) -> None:
    a, b = world.consumer("a"), world.consumer("b")
    await world.stable(a, b)
    assert await a.leave() is None
    assert await outcome(world.start_task(a.commit(5))) is UnknownMemberId
    assert await b.leave() is None
    assert await outcome(world.start_task(b.commit(5))) is UnknownMemberId
    assert await world.commit({"t": 9}) == [None]  # the group is empty: tools may


async def test_a_fenced_static_member_may_not_commit(world: World) -> None:
    static = world.consumer("s", instance_id="i")
    await world.stable(static)
    await world.consumer("s", instance_id="i").join_once()
    assert await outcome(world.start_task(static.commit(5))) is FencedInstanceId


async def test_a_generation_of_a_group_that_is_not_there(world: World) -> None:
    with pytest.raises(GroupIdNotFound):
        await world.commit({"t": 1}, member_id="a", generation=3)
    with pytest.raises(IllegalGeneration):
        await world.commit({"t": 1}, member_id="a", generation=3, knows_group_id_not_found=False)


async def test_a_commit_decided_before_a_rebalance_is_not_answered_after_a_loss(world: World) -> None:
    """A commit that was appended and not committed is lost with the leadership: its client is told so."""
    consumer = world.consumer()
    await world.stable(consumer)
    world.log.commits_at_once = False
    committing = world.start_task(consumer.commit(5))
    await settle()
    world.coordinator.on_resigned(0, world.epoch)
    assert await outcome(committing) is NotCoordinator


# --- expiry


async def test_offsets_of_a_group_that_never_had_members_expire_after_their_commit(world: World) -> None:
    await world.commit({"t": 1})
    await world.clock.elapse(RETENTION_MS / 2)
    await world.commit({"u": 2})
    await world.clock.elapse(RETENTION_MS / 2)
    await sweep(world)
    assert await world.committed() == {("u", 0): 2}
    await world.clock.elapse(RETENTION_MS / 2)
    await sweep(world)
    assert not world.shard.groups
    assert world.coordinator.counters.expired_offsets == 2


async def test_offsets_of_a_living_group_do_not_expire(world: World) -> None:
    consumer = world.consumer(session_ms=1_800_000)
    await world.stable(consumer)
    await consumer.commit(5)
    await live_on(world, consumer, 16)
    assert await world.committed() == {("t", 0): 5}


async def test_offsets_of_topics_that_nobody_reads_any_more_expire_in_a_living_group(world: World) -> None:
    consumer = world.consumer(session_ms=1_800_000, protocols={"range": subscription("t")})
    await world.stable(consumer)
    await consumer.commit(5, "t")
    await consumer.commit(6, "old")
    await live_on(world, consumer, 8)
    assert await world.committed() == {("t", 0): 5}
    assert await consumer.leave() is None


@pytest.mark.parametrize("more", [{"protocol_type": "connect"}, {"protocols": {"range": b"\x00"}}])
async def test_where_it_is_not_known_what_is_read_nothing_expires(
    world: World, more: dict[str, object]
) -> None:
    consumer = world.consumer(session_ms=1_800_000, **more)  # type: ignore[arg-type]
    await world.stable(consumer)
    await consumer.commit(6, "old")
    await live_on(world, consumer, 8)
    assert await world.committed() == {("old", 0): 6}
    assert await consumer.leave() is None


async def test_offsets_expire_a_retention_after_the_group_became_empty(world: World) -> None:
    consumer = world.consumer()
    await world.stable(consumer)
    await consumer.commit(5)
    await world.clock.elapse(SESSION_MS)
    assert world.state is GroupState.EMPTY
    await world.clock.elapse(RETENTION_MS - world.config.retention_check_interval_ms)
    assert await world.committed() == {("t", 0): 5}
    await sweep(world)
    await sweep(world)
    assert await world.committed() == {}
    assert not world.shard.groups  # and the group with the last of them
    restored = await World().start(world.log.after_crash())
    assert not restored.shard.groups
    await restored.close()


async def test_a_client_of_old_may_ask_for_its_own_retention(world: World) -> None:
    await world.commit({"short": 1}, retention_ms=3_600_000)
    await world.commit({"long": 2}, retention_ms=2 * RETENTION_MS)
    await world.clock.elapse(3_600_000)
    await sweep(world)
    assert await world.committed() == {("long", 0): 2}
    await world.clock.elapse(RETENTION_MS)
    await sweep(world)
    assert await world.committed() == {("long", 0): 2}
    await world.clock.elapse(RETENTION_MS)
    await sweep(world)
    assert await world.committed() == {}


async def test_the_longest_retention_there_is_never_ends(world: World) -> None:
    await world.commit({"t": 1}, retention_ms=2**63 - 1)
    world.clock.stall(1_000 * 365 * DAY_MS)
    await sweep(world)
    assert await world.committed() == {("t", 0): 1}


async def test_an_empty_group_without_offsets_goes_at_the_next_sweep(world: World) -> None:
    consumer = world.consumer()
    await world.stable(consumer)
    assert await consumer.leave() is None
    assert world.shard.groups
    await sweep(world)
    assert not world.shard.groups


async def test_a_sweep_of_many_groups_is_cut_into_slices(world: World) -> None:
    for number in range(1_200):
        world.start_task(
            world.coordinator.commit_offsets(
                CommitRequest(group_id=f"g{number}", offsets=[OffsetToCommit("t", 0, 1)])
            )
        )
    await settle()
    assert len(world.shard.groups) == 1_200
    world.clock.stall(RETENTION_MS)
    await sweep(world)
    assert not world.shard.groups


async def test_a_sweep_goes_on_when_the_log_refuses(world: World) -> None:
    await world.commit({"t": 1})
    await world.clock.elapse(RETENTION_MS - 1_000)
    world.log.refusal = StorageFailed("full")
    await sweep(world)
    await sweep(world)
    world.log.refusal = None
    assert await world.committed() == {("t", 0): 1}
    await sweep(world)
    assert await world.committed() == {}


# --- deleting


async def test_offsets_are_deleted_one_by_one(world: World) -> None:
    await world.commit({"t": 1, "u": 2})
    assert await world.coordinator.delete_offsets("g", [("t", 0), ("t", 1), ("v", 0)]) == [None] * 3
    assert await world.committed() == {("u", 0): 2}
    await world.coordinator.delete_offsets("g", [("u", 0)])
    assert not world.shard.groups
    with pytest.raises(GroupIdNotFound):
        await world.coordinator.delete_offsets("g", [("u", 0)])


async def test_offsets_that_are_being_read_are_not_deleted(world: World) -> None:
    consumer = world.consumer(protocols={"range": subscription("t")})
    await world.stable(consumer)
    await consumer.commit(1, "t")
    await consumer.commit(1, "u")
    errors = await world.coordinator.delete_offsets("g", [("t", 0), ("u", 0)])
    assert [type(error) for error in errors] == [GroupSubscribedToTopic, type(None)]
    assert await world.committed() == {("t", 0): 1}


async def test_offsets_of_another_kind_of_group_are_not_deleted_while_it_lives(world: World) -> None:
    await world.stable(world.consumer(protocol_type="connect", protocols={"eager": b""}))
    with pytest.raises(NonEmptyGroup):
        await world.coordinator.delete_offsets("g", [("t", 0)])


async def test_deleting_groups(world: World) -> None:
    await world.commit({"t": 1})
    alive = world.consumer(group_id="alive")
    joining = alive.start_join()
    await world.clock.elapse(FORMING_MS)
    await joining
    outcomes = await world.coordinator.delete_groups(["g", "none", "alive"])
    assert outcomes["g"] is None
    assert type(outcomes["none"]) is GroupIdNotFound
    assert type(outcomes["alive"]) is NonEmptyGroup
    assert list(world.shard.groups) == ["alive"]
    assert world.coordinator.counters.deleted_groups == 1
    restored = await World().start(world.log.after_crash())
    assert not restored.shard.groups
    await restored.close()


async def test_deleting_a_group_with_members_gone(world: World) -> None:
    consumer = world.consumer()
    await world.stable(consumer)
    await consumer.commit(5)
    assert await consumer.leave() is None
    assert await world.coordinator.delete_groups(["g"]) == {"g": None}
    assert not world.shard.groups
    assert await world.committed() == {}
    again: Consumer = world.consumer()
    await world.stable(again)
    assert again.generation == 1  # a new group of that name


async def test_a_deletion_that_the_log_refuses(world: World) -> None:
    await world.commit({"t": 1})
    world.log.refusal = StorageFailed("full")
    outcomes = await world.coordinator.delete_groups(["g"])
    assert type(outcomes["g"]) is CoordinatorNotAvailable
    world.log.refusal = None
    assert await world.committed() == {("t", 0): 1}


async def test_offsets_go_with_their_topic(world: World) -> None:
    consumer = world.consumer()
    await world.stable(consumer)
    await consumer.commit(5, "t")
    await consumer.commit(6, "u")
    await world.coordinator.commit_offsets(
        CommitRequest(group_id="other", offsets=[OffsetToCommit("t", 1, 1)])
    )
    world.coordinator.on_topics_removed(["t"])
    await settle()
    assert await world.committed() == {("u", 0): 6}
    assert await world.committed("other") == {}
    assert "other" not in world.shard.groups


async def test_topics_that_go_while_the_shard_loads_are_dropped_after(world: World) -> None:
    await world.commit({"t": 5, "u": 6})
    world.coordinator.on_resigned(0, world.epoch)
    world.coordinator.on_leader(0, world.epoch + 1, world.log)
    world.coordinator.on_topics_removed(["t"])
    await world.coordinator.loaded()
    await settle()
    assert await world.committed() == {("u", 0): 6}
