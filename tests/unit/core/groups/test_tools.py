"""What tools see, and how a group finds its partition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.coordinator_log import CoordinatorLog
from tests.support.group_world import FORMING_MS, Numbers, World, subscription
from tests.support.simulated_clock import SimulatedClock, settle

from mainstem.core.coordinator.hashing import java_string_hash
from mainstem.core.errors import InvalidGroupId, NotCoordinator
from mainstem.core.groups.config import GroupConfig
from mainstem.core.groups.coordinator import GroupCoordinator
from mainstem.core.groups.requests import CommitRequest, OffsetToCommit
from mainstem.core.groups.subscription import subscribed_topics


async def test_a_stable_group_is_described_with_its_members(world: World) -> None:
    consumer = world.consumer("client", instance_id="i")
    await world.stable(consumer)
    description = await world.coordinator.describe("g")
    assert (description.state, description.protocol_type, description.protocol) == (
        "Stable",
        "consumer",
        "range",
    )
    (member,) = description.members
    assert (member.member_id, member.instance_id) == (consumer.member_id, "i")
    assert (member.client_id, member.client_host) == ("client", "127.0.0.1")
    assert member.metadata == subscription("t")
    assert member.assignment == f"for {consumer.member_id}".encode()


async def test_a_group_in_between_shows_its_members_and_nothing_of_a_generation(world: World) -> None:
    joining = world.consumer().start_join()
    await settle()
    description = await world.coordinator.describe("g")
    assert (description.state, description.protocol) == ("PreparingRebalance", "")
    assert description.members[0].metadata == b""
    await world.clock.elapse(FORMING_MS)
    await joining
    assert (await world.coordinator.describe("g")).state == "CompletingRebalance"


async def test_groups_that_are_empty_or_not_there(world: World) -> None:
    await world.commit({"t": 1})
    empty = await world.coordinator.describe("g")
    assert (empty.state, empty.protocol_type, empty.members, empty.exists) == ("Empty", "", (), True)
    missing = await world.coordinator.describe("none")
    assert (missing.state, missing.exists) == ("Dead", False)
    with pytest.raises(InvalidGroupId):
        await world.coordinator.describe("")


async def test_groups_are_listed_and_filtered(world: World) -> None:
    await world.stable(world.consumer())
    await world.coordinator.commit_offsets(
        CommitRequest(group_id="tool", offsets=[OffsetToCommit("t", 0, 1)])
    )

    def names(*states: str, types: tuple[str, ...] = ()) -> list[str]:
        return sorted(group.group_id for group in world.coordinator.list_groups(states, types))

    assert names() == ["g", "tool"]
    assert names("stable") == ["g"]
    assert names("EMPTY", "Stable") == ["g", "tool"]
    assert names("Dead") == []
    assert names(types=("Classic",)) == ["g", "tool"]
    assert names(types=("consumer",)) == []
    assert world.coordinator.group_count == 2
    assert world.coordinator.shard_states() == {0: "active"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", 0x80000000),  # the smallest number there is
        ("\U0001f600", 1772899),
        ("__consumer_offsets", 3324595927),
    ],
)
def test_javas_hash(text: str, expected: int) -> None:
    assert java_string_hash(text) == expected


@given(st.text(), st.integers(1, 200))
def test_every_group_has_a_partition(group_id: str, count: int) -> None:
    coordinator = GroupCoordinator(SimulatedClock(), Numbers(), GroupConfig(), partition_count=count)
    assert 0 <= coordinator.partition_for(group_id) < count


async def test_groups_of_partitions_led_elsewhere_are_refused() -> None:
    clock = SimulatedClock()
    coordinator = GroupCoordinator(clock, Numbers(), GroupConfig(), partition_count=2)
    coordinator.on_leader(0, 1, CoordinatorLog())
    await coordinator.loaded()
    names = [f"g{number}" for number in range(20)]
    for name in names:
        request = CommitRequest(group_id=name, offsets=[OffsetToCommit("t", 0, 1)])
        if coordinator.partition_for(name) == 0:
            assert await coordinator.commit_offsets(request) == [None]
        else:
            with pytest.raises(NotCoordinator):
                await coordinator.commit_offsets(request)
    assert {coordinator.partition_for(name) for name in names} == {0, 1}
    coordinator.on_leader(1, 1, CoordinatorLog())
    await coordinator.loaded()
    for name in names:
        request = CommitRequest(group_id=name, offsets=[OffsetToCommit("t", 0, 1)])
        assert await coordinator.commit_offsets(request) == [None]
    assert coordinator.group_count == 20
    coordinator.close()
    assert clock.pending == 0


def test_subscriptions() -> None:
    assert subscribed_topics([subscription("a", "b"), subscription("b", "c")]) == {"a", "b", "c"}
    assert subscribed_topics([]) == frozenset()
    for damaged in (b"", b"\x00", b"\x00\x00", b"\x00\x00\x7f\xff\xff\xff", subscription("a")[:7]):
        assert subscribed_topics([subscription("a"), damaged]) is None
    later = b"\x00\x09" + subscription("a")[2:] + b"what a later version adds"
    assert subscribed_topics([later]) == {"a"}
