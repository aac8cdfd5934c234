"""Time and timers as logic sees them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class TimerHandle(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall-clock time in milliseconds since 1970: what goes into records and files."""
        ...

    def monotonic_ms(self) -> float:
        """Time that never goes back: what time-outs are measured with."""
        ...

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> TimerHandle:
        """Runs `callback` on the loop after the delay, unless the handle is cancelled first."""
        ...


class LoopClock:
    """The clock of a running event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> float:
        return time.monotonic() * 1000.0

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> TimerHandle:
        return self._loop.call_later(delay_ms / 1000.0, callback)
