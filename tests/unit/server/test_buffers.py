"""The memory of requests: shared, pooled, counted, bounded."""

from __future__ import annotations

from mainstem.server.buffers import RequestMemory

KIB = 1024


def test_a_buffer_is_as_large_as_asked_for_and_hardly_larger() -> None:
    memory = RequestMemory()
    for size in (1, 1000, 64 * KIB, 64 * KIB + 1, 100_000, 1_000_000, 8 << 20, 100_000_000):
        assert size <= len(memory.take(size)) <= size + size // 8 + 8 * KIB


def test_a_released_buffer_is_taken_again() -> None:
    memory = RequestMemory()
    buffer = memory.take(200_000)
    memory.give(buffer)
    assert memory.take(199_000) is buffer
    assert memory.take(199_000) is not buffer


def test_only_so_much_is_kept_and_nothing_tiny_or_huge() -> None:
    memory = RequestMemory(free_limit=1 << 20)
    huge, tiny = memory.take(9 << 20), memory.take(100)
    some = [memory.take(400 * KIB) for _ in range(4)]
    for buffer in (huge, tiny, *some):
        memory.give(buffer)
    assert memory.take(9 << 20) is not huge
    assert memory.take(100) is not tiny
    kept = [memory.take(400 * KIB) for _ in range(4)]
    assert sum(any(one is old for old in some) for one in kept) == 2


def test_above_the_limit_no_request_begins_until_an_eighth_is_free() -> None:
    memory = RequestMemory(limit=800)
    called: list[str] = []
    memory.charge(800)
    assert not memory.is_exhausted
    memory.charge(1)
    assert memory.is_exhausted
    memory.when_room(lambda: called.append("first"))
    memory.charge(-100)
    assert memory.is_exhausted
    memory.charge(-1)
    assert not memory.is_exhausted
    assert called == ["first"]


def test_who_waits_is_called_in_turn_and_only_while_there_is_room() -> None:
    memory = RequestMemory(limit=100)
    called: list[int] = []
    memory.charge(101)
    for number in range(4):
        memory.when_room(lambda n=number: (called.append(n), memory.charge(60)))  # type: ignore[misc]
    memory.charge(-101)
    assert called == [0, 1]
    memory.charge(-120)
    assert called == [0, 1, 2, 3]


def test_partial_requests_are_counted_apart() -> None:
    memory = RequestMemory(limit=100)
    memory.charge_partial(100)
    assert not memory.is_overdrawn
    memory.charge_partial(1)
    assert memory.is_overdrawn
    assert not memory.is_exhausted
    memory.charge_partial(-1)
    assert not memory.is_overdrawn
