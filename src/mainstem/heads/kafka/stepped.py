"""A coroutine's first step without a task.

Most handlers never wait, and a task costs a turn of the loop. So a coroutine is stepped once by hand; if it
returns, that was all. If it waits, what is left of it is wrapped up here for a task, which finds the
awaitable that the coroutine waits for in its own first step and goes on from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from time import perf_counter_ns
from typing import Any, Generic, TypeVar

R = TypeVar("R")


class SteppedCoroutine(Coroutine[Any, Any, R], Generic[R]):
    """`coroutine` after its first step, which yielded `awaited`."""

    __slots__ = ("_awaited", "_coroutine", "_is_resumed", "spent_ns")

    def __init__(self, coroutine: Coroutine[Any, Any, R], awaited: Any) -> None:
        self._coroutine = coroutine
        self._awaited = awaited
        self._is_resumed = False
        self.spent_ns = 0  # in the steps after the first

    def send(self, value: Any) -> Any:
        if self._is_resumed:
            begun_ns = perf_counter_ns()
            try:
                return self._coroutine.send(value)
            finally:
                self.spent_ns += perf_counter_ns() - begun_ns
        self._is_resumed = True
        awaited, self._awaited = self._awaited, None
        return awaited

    def throw(self, *error: Any) -> Any:
        """A task that is cancelled before it began does not know the future that it would wait for."""
        awaited, self._awaited = self._awaited, None
        self._is_resumed = True
        if isinstance(awaited, asyncio.Future):
            awaited.cancel()
        return self._coroutine.throw(*error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, R]:
        raise TypeError("a stepped coroutine is for a task, not for await")
