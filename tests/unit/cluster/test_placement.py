"""Replicas are spread: over nodes, over racks, and away from a node that fails."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.cluster.node import brokers

from mainstem.cluster.placement import NO_LEADER, check_assignment, new_partition, place_replicas
from mainstem.core.errors import InvalidReplicaAssignment, InvalidReplicationFactor
from mainstem.core.image import PartitionImage


@given(
    node_count=st.integers(1, 9),
    factor=st.integers(1, 9),
    partition_count=st.integers(1, 60),
    start=st.integers(0, 1_000),
    rack_count=st.integers(1, 4),
)
def test_replicas_are_distinct_and_leaders_even(
    node_count: int, factor: int, partition_count: int, start: int, rack_count: int
) -> None:
    node_ids = [3 * number + 1 for number in range(node_count)]
    nodes = brokers(*node_ids, racks={n: f"rack-{n % rack_count}" for n in node_ids})
    if factor > node_count:
        with pytest.raises(InvalidReplicationFactor, match=f"{node_count} broker"):
            place_replicas(nodes, partition_count, factor, start=start)
        return
    placed = place_replicas(nodes, partition_count, factor, start=start)
    assert len(placed) == partition_count
    for replicas in placed:
        assert len(set(replicas)) == factor
        check_assignment(replicas, nodes, factor)
    leaders = Counter(replicas[0] for replicas in placed)
    assert max(leaders.values()) - min(leaders[n] for n in node_ids) <= 1


def test_the_partitions_of_a_lost_leader_spread_over_all_others() -> None:
    placed = place_replicas(brokers(1, 2, 3, 4, 5), 100, 2, start=0)
    followers = Counter(replicas[1] for replicas in placed if replicas[0] == 3)
    assert set(followers) == {1, 2, 4, 5}
    assert set(followers.values()) == {5}


def test_replicas_of_a_partition_lie_in_different_racks_where_they_can() -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
    first_round = place_replicas(brokers(*racks, racks=racks), 6, 3, start=0)
    for replicas in first_round:
        assert len({racks[node_id] for node_id in replicas}) == 3


def test_topics_begin_where_the_one_before_did_not() -> None:
    leaders = [place_replicas(brokers(1, 2, 3), 1, 1, start=start)[0][0] for start in range(6)]
    assert leaders == [1, 2, 3, 1, 2, 3]


@pytest.mark.parametrize(
    ("replicas", "factor", "reason"),
    [
        ((), None, "at least one"),
        ((-1,), None, "cannot be"),
        ((9,), None, "not registered"),
        ((1, 1), None, "twice"),
        ((1,), 2, "other partitions have 2"),
    ],
)
def test_assignments_that_cannot_be(replicas: tuple[int, ...], factor: int | None, reason: str) -> None:
    with pytest.raises(InvalidReplicaAssignment, match=reason):
        check_assignment(replicas, brokers(1, 2), factor)


def test_a_new_partition_is_led_by_its_first_live_replica() -> None:
    assert new_partition((3, 1, 2), brokers(1, 2)) == PartitionImage((3, 1, 2), (1, 2), 1, 0, 0)
    assert new_partition((3,), brokers(1)).leader == NO_LEADER
