"""Waiting for something that a process of another makes true."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 30.0
PAUSE_S = 0.02


def eventually(
    attempt: Callable[[], T], what: str, *, patience_s: float = PATIENCE_S, pause_s: float = PAUSE_S
) -> T:
    """Repeats `attempt` until it gives something true, and gives that; fails with `what` when time is up.

    An attempt that talks to a client which waits by itself (poll, a request) needs no pause.
    """
    deadline = time.monotonic() + patience_s
    while True:
        seen = attempt()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise AssertionError(f"after {patience_s} s still not: {what} (last seen: {seen!r})")
        if pause_s:
            time.sleep(pause_s)


async def eventually_async(
    attempt: Callable[[], T], what: str, *, patience_s: float = PATIENCE_S, pause_s: float = PAUSE_S / 10
) -> T:
    """The same for what turns of the loop, or threads that it waits for, make true."""
    deadline = time.monotonic() + patience_s
    while not (seen := attempt()):
        if time.monotonic() > deadline:
            raise AssertionError(f"after {patience_s} s still not: {what} (last seen: {seen!r})")
        await asyncio.sleep(pause_s)
    return seen
