"""How long a client waits for a change of metadata, and who holds the change when it waits no longer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from mainstem.core.errors import RequestTimedOut

T = TypeVar("T")

MOST_LEFT: Final = 100  # changes that go on without anybody who waits

_LOG = logging.getLogger(__name__)


class BegunChanges:
    """The changes that clients of one head asked for and that have not ended.

    The loop alone would not keep them: it holds on to a task only as long as something is about to wake it.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._left: set[asyncio.Task[Any]] = set()  # of these, what nobody waits for any more

    def __len__(self) -> int:
        return len(self._tasks)

    async def within(self, timeout_ms: int, change: Coroutine[Any, Any, T]) -> T:
        """What the change leads to. It is carried to its end, also if its client goes or waits no longer.

        A client that wants no wait, with a time-out of 0 or less, is answered as one whose time is up. What
        is waited for is bounded by the memory of requests; what is not is bounded here.
        """
        if len(self._left) >= MOST_LEFT:
            change.close()
            raise RequestTimedOut(
                f"not begun: {MOST_LEFT} changes that nobody waits for go on: try again later"
            )
        task = asyncio.get_running_loop().create_task(change)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            await asyncio.wait([task], timeout=max(timeout_ms, 0) / 1000)
        finally:
            if not task.done():
                self._left.add(task)
                task.add_done_callback(self._left.discard)
                task.add_done_callback(_log_failure)
        if not task.done():
            raise RequestTimedOut(
                f"not done within {timeout_ms} ms; it goes on, and can be seen in the metadata"
            )
        return task.result()


def _log_failure(task: asyncio.Task[Any]) -> None:
    """Its client is not there to be told."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _LOG.warning("a change whose client waits no longer failed: %s", error, exc_info=error)
