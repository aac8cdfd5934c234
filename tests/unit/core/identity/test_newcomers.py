"""Nobody holds all places of those who have not shown who they are."""

from __future__ import annotations

import pytest

from mainstem.core.identity.newcomers import Newcomers


@pytest.mark.parametrize(("most", "of_one"), [(1, 1), (2, 1), (10, 5), (1000, 500)])
def test_one_address_gets_half_of_the_places(most: int, of_one: int) -> None:
    newcomers = Newcomers()
    assert sum(newcomers.enter("192.0.2.1", most) for _ in range(2 * most)) == of_one
    assert newcomers.count == of_one


def test_a_crowd_from_some_addresses_leaves_places_for_others() -> None:
    newcomers = Newcomers()
    for _ in range(1000):
        for crowd in range(9):
            newcomers.enter(f"192.0.2.{crowd}", 100)
    assert newcomers.count < 100
    assert newcomers.enter("198.51.100.1", 100)


def test_never_more_than_there_are_places_and_places_come_back() -> None:
    newcomers = Newcomers()
    entered = [ip for ip in map(str, range(20)) if newcomers.enter(ip, 10)]
    assert len(entered) == newcomers.count == 10
    for ip in entered:
        newcomers.leave(ip)
    assert newcomers.count == 0
    assert newcomers.enter("late", 10)
