"""The partition of a key, as Java's producer has it."""

from random import Random

import pytest

from mainstem.client.partitioner import StickyChoice, murmur2, partition_for_key


@pytest.mark.parametrize(
    ("key", "value"),
    # The vectors of Kafka's own UtilsTest.
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_kafkas(key: bytes, value: int) -> None:
    assert murmur2(key) == value & 0xFFFFFFFF


def test_a_key_has_one_partition_and_all_are_used() -> None:
    places = [partition_for_key(b"key-%d" % number, 7) for number in range(1000)]
    assert set(places) == set(range(7))
    assert places == [partition_for_key(b"key-%d" % number, 7) for number in range(1000)]


def test_a_sticky_choice_stays_until_it_moves_on_to_another() -> None:
    choice = StickyChoice(Random(1))
    first = choice.partition(5)
    assert all(choice.partition(5) == first for _ in range(10))
    for _ in range(50):
        before = choice.partition(5)
        choice.move_on(5)
        assert choice.partition(5) != before


def test_a_single_partition_is_never_left() -> None:
    choice = StickyChoice()
    choice.move_on(1)
    assert choice.partition(1) == 0
