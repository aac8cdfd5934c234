"""A turn writes each partition once, and does what was put off afterwards."""

from __future__ import annotations

from collections.abc import Callable

from mainstem.core.append_turn import AppendTurn


class Written:
    def __init__(self, told: list[str], name: str) -> None:
        self._told = told
        self._name = name

    def write_staged(self) -> None:
        self._told.append(self._name)


def test_writes_come_first_then_what_was_put_off_in_its_order() -> None:
    scheduled: list[Callable[[], None]] = []
    told: list[str] = []
    turn = AppendTurn(scheduled.append)
    turn.defer(lambda: told.append("later"))
    turn.add(Written(told, "a"))  # type: ignore[arg-type]
    turn.add(Written(told, "b"))  # type: ignore[arg-type]
    turn.defer(lambda: told.append("last"))
    assert len(scheduled) == 1
    assert told == []
    scheduled.pop()()
    assert told == ["a", "b", "later", "last"]


def test_what_comes_during_a_turn_belongs_to_the_next_or_is_put_off_within_it() -> None:
    scheduled: list[Callable[[], None]] = []
    told: list[str] = []
    turn = AppendTurn(scheduled.append)

    class Chatty(Written):
        def write_staged(self) -> None:
            super().write_staged()
            turn.defer(lambda: told.append("woken"))

    turn.add(Chatty(told, "a"))  # type: ignore[arg-type]
    scheduled.pop()()
    assert told == ["a", "woken"]  # a reader that a write woke answers in the same turn
    while scheduled:
        scheduled.pop()()
    assert told == ["a", "woken"]
    turn.add(Written(told, "b"))  # type: ignore[arg-type]
    scheduled.pop()()
    assert told == ["a", "woken", "b"]
