"""Offsets that a transaction commits: held until it ends, and the same after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.support.group_world import GROUP, World
from tests.support.logs import START_MS
from tests.support.simulated_clock import settle

from mainstem.core.errors import IllegalGeneration, OffsetMetadataTooLarge, UnknownMemberId
from mainstem.core.groups.requests import CommitRequest, FetchedOffset, OffsetToCommit
from mainstem.log.transaction_markers import EndMarker, build_marker

T = ("t", 0)


async def hold(
    world: World, producer_id: int, offset: int, topic: str = "t", **more: Any
) -> list[Exception | None]:
    """Commits an offset as part of the producer's transaction."""
    waiter: asyncio.Future[list[Exception | None]] = asyncio.get_running_loop().create_future()
    metadata = more.pop("metadata", "")
    request = CommitRequest(
        group_id=GROUP, offsets=[OffsetToCommit(topic, 0, offset, metadata=metadata)], **more
    )
    world.shard.commit_in_transaction(request, producer_id, 0, waiter)
    return await waiter


async def end(world: World, producer_id: int, *, commit: bool) -> None:
    settled: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
    marker = build_marker(producer_id, 0, EndMarker(commit, 0), now_ms=START_MS)
    world.shard.end_transaction(producer_id, marker, is_commit=commit, settled=settled.set_result)
    assert await settled is None


async def stable(world: World, *topics: str) -> Sequence[FetchedOffset]:
    wanted = [(topic, [0]) for topic in topics] if topics else None
    return await world.coordinator.fetch_offsets(GROUP, wanted, require_stable=True)


async def test_an_offset_is_held_until_its_transaction_ends(world: World) -> None:
    await world.commit({"t": 5})
    assert await hold(world, 1, 9) == [None]
    assert await world.committed() == {T: 5}
    [found] = await stable(world, "t")
    assert (found.offset, found.is_unstable) == (-1, True)
    [other] = await stable(world, "u")
    assert (other.offset, other.is_unstable) == (-1, False)
    await end(world, 1, commit=True)
    assert await world.committed() == {T: 9}
    [found] = await stable(world)
    assert (found.offset, found.is_unstable) == (9, False)


@pytest.mark.parametrize("before", [None, 5])
async def test_what_was_aborted_was_never_there(world: World, before: int | None) -> None:
    if before is not None:
        await world.commit({"t": before})
    await hold(world, 1, 9)
    await end(world, 1, commit=False)
    assert await world.committed() == ({} if before is None else {T: before})
    assert (GROUP in world.shard.groups) is (before is not None), "nothing is left of a group without offsets"
    assert world.shard.pending.producer_count == 0


async def test_the_record_that_stands_last_counts(world: World) -> None:
    await hold(world, 1, 10)
    await hold(world, 2, 20)
    await end(world, 2, commit=True)
    await end(world, 1, commit=True)
    assert await world.committed() == {T: 20}
    await hold(world, 1, 30)
    await world.commit({"t": 40})
    [found] = await stable(world, "t")
    assert (found.offset, found.is_unstable) == (40, False), "whatever becomes of the other"
    await end(world, 1, commit=True)
    assert await world.committed() == {T: 40}
    await hold(world, 1, 50)
    await hold(world, 2, 60)
    await end(world, 2, commit=False)
    await end(world, 1, commit=True)
    assert await world.committed() == {T: 50}


@pytest.mark.parametrize("commit", [True, False])
async def test_a_restart_changes_nothing(world: World, commit: bool) -> None:
    await world.commit({"t": 5, "u": 6})
    await hold(world, 1, 9)
    await hold(world, 2, 70, topic="u")
    await end(world, 2, commit=True)
    for _ in range(2):
        await world.restart()
        assert await world.committed() == {T: 5, ("u", 0): 70}
        assert [found.is_unstable for found in await stable(world, "t", "u")] == [True, False]
    await end(world, 1, commit=commit)
    expected = {T: 9 if commit else 5, ("u", 0): 70}
    assert await world.committed() == expected
    await world.restart()
    assert await world.committed() == expected
    assert world.shard.pending.producer_count == 0


async def test_a_commit_is_answered_when_it_is_committed(world: World) -> None:
    world.log.commits_at_once = False
    held = world.start_task(hold(world, 1, 9))
    await settle()
    assert not held.done()
    world.log.commit()
    assert await held == [None]


async def test_a_producer_need_not_name_its_member_but_may_not_name_another(world: World) -> None:
    await world.commit({"t": 5})
    assert await hold(world, 1, 7) == [None]
    with pytest.raises(UnknownMemberId):
        await hold(world, 1, 8, member_id="somebody", generation=3)
    waiter: asyncio.Future[list[Exception | None]] = asyncio.get_running_loop().create_future()
    unknown = CommitRequest(group_id="none", offsets=[OffsetToCommit("t", 0, 1)], member_id="m", generation=1)
    with pytest.raises(IllegalGeneration):
        world.shard.commit_in_transaction(unknown, 1, 0, waiter)
    [error] = await hold(world, 1, 8, metadata="m" * 5_000)
    assert isinstance(error, OffsetMetadataTooLarge)
    await end(world, 1, commit=True)
    assert await world.committed() == {T: 7}


async def test_held_offsets_do_not_expire_and_keep_their_group(world: World) -> None:
    await world.commit({"t": 5})
    await hold(world, 1, 9)
    world.clock.advance(world.config.offsets_retention_ms + world.config.retention_check_interval_ms)
    await settle()
    assert await world.committed() == {T: 5}
    await end(world, 1, commit=True)
    assert await world.committed() == {T: 9}


async def test_deleting_takes_held_offsets_along(world: World) -> None:
    await hold(world, 1, 9)
    await hold(world, 1, 9, topic="u")
    assert await world.coordinator.delete_offsets(GROUP, [("u", 0)]) == [None]
    assert await world.coordinator.delete_groups([GROUP]) == {GROUP: None}
    await end(world, 1, commit=True)
    assert await world.committed() == {}
    await world.restart()
    assert await world.committed() == {}


async def test_offsets_of_a_topic_that_was_deleted_are_not_held(world: World) -> None:
    await hold(world, 1, 9)
    await hold(world, 1, 3, topic="u")
    world.coordinator.on_topics_removed({"t"})
    await settle()
    await end(world, 1, commit=True)
    assert await world.committed() == {("u", 0): 3}
