"""How long a client waits for a change of metadata."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from mainstem.core.errors import RequestTimedOut

T = TypeVar("T")


async def within(timeout_ms: int, change: Coroutine[Any, Any, T]) -> T:
    """What the change leads to. It is carried to its end, even if the client goes away or waits no longer.

    A client that does not want to wait, with a time-out of 0 or less, is answered as one whose time is up.
    """
    task = asyncio.ensure_future(change)
    done, _ = await asyncio.wait([task], timeout=max(timeout_ms, 0) / 1000)
    if not done:
        raise RequestTimedOut(f"not done within {timeout_ms} ms; it goes on, and can be seen in the metadata")
    return task.result()
