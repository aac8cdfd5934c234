"""Ranges of offsets: nothing lost and nothing twice, however they are cut."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mainstem.model.ids import TopicPartition
from mainstem.spark.positions import Positions
from mainstem.spark.ranges import OffsetRange, limited_ends, split_ranges

SIZES = st.lists(st.integers(0, 10_000), min_size=1, max_size=12)


def ranges_of(sizes: list[int]) -> list[OffsetRange]:
    return [OffsetRange(TopicPartition("t", number), 100, 100 + size) for number, size in enumerate(sizes)]


@settings(deadline=None)
@given(SIZES, st.none() | st.integers(1, 100), st.none() | st.integers(1, 5_000))
def test_pieces_cover_every_offset_once(sizes: list[int], count: int | None, size: int | None) -> None:
    pieces = split_ranges(ranges_of(sizes), min_count=count, max_size=size)
    assert all(piece.size > 0 for piece in pieces)
    assert size is None or all(piece.size <= size for piece in pieces)
    for whole in ranges_of(sizes):
        mine = [piece for piece in pieces if piece.partition == whole.partition]
        assert sum(piece.size for piece in mine) == whole.size
        assert [piece.start for piece in mine[1:]] == [piece.end for piece in mine[:-1]]


def test_a_minimum_of_tasks_goes_to_the_large_ranges() -> None:
    pieces = split_ranges(ranges_of([1_000, 10, 0]), min_count=5)
    assert [piece.partition.partition for piece in pieces] == [0, 0, 0, 0, 0, 1]


@settings(deadline=None)
@given(SIZES, st.integers(1, 20_000))
def test_limits_share_what_there_is(sizes: list[int], limit: int) -> None:
    starts = {found.partition: found.start for found in ranges_of(sizes)}
    ends = {found.partition: found.end for found in ranges_of(sizes)}
    limited = limited_ends(starts, ends, limit)
    assert all(starts[part] <= limited[part] <= ends[part] for part in ends)
    assert sum(limited[part] - starts[part] for part in ends) == min(limit, sum(sizes))


def test_a_small_partition_is_not_starved() -> None:
    large, small = TopicPartition("t", 0), TopicPartition("t", 1)
    starts = {large: 0, small: 0}
    ends = {large: 1_000_000, small: 3}
    for _ in range(1_001):
        starts = limited_ends(starts, ends, 1_000)
    assert starts == ends


def test_positions_are_written_alike_whatever_the_order() -> None:
    parts = [TopicPartition("t", number) for number in (10, 2, 0)]
    one = Positions(dict.fromkeys(parts, 7), {"t": "id", "other": "x"}, "g").to_json()
    two = Positions(dict.fromkeys(reversed(parts), 7), {"t": "id"}, "g").to_json()
    assert str(one) == str(two)
    assert list(one["offsets"]["t"]) == ["0", "2", "10"]
    assert Positions.from_json(one) == Positions(dict.fromkeys(parts, 7), {"t": "id"}, "g")
