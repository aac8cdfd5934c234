"""Time that stands still until a test lets it pass."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable

START_MS = 1_700_000_000_000
_SETTLING_TURNS = 20


class SimulatedTimer:
    def __init__(self, due_ms: float, callback: Callable[[], None]) -> None:
        self.due_ms = due_ms
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class SimulatedClock:
    """A `Clock`. Timers fire in order of their time, those of one moment in the order they were set."""

    def __init__(self, start_ms: int = START_MS) -> None:
        self._start_ms = start_ms
        self._passed_ms = 0.0
        self._set = 0
        self._timers: list[tuple[float, int, SimulatedTimer]] = []

    def now_ms(self) -> int:
        return self._start_ms + int(self._passed_ms)

    def monotonic_ms(self) -> float:
        return self._passed_ms

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> SimulatedTimer:
        timer = SimulatedTimer(self._passed_ms + max(0.0, delay_ms), callback)
        self._set += 1
        heapq.heappush(self._timers, (timer.due_ms, self._set, timer))
        return timer

    @property
    def pending(self) -> int:
        """Timers that are set and not cancelled: what a test looks at for leaks."""
        return sum(timer.callback is not None for _, _, timer in self._timers)

    @property
    def next_due_ms(self) -> float | None:
        while self._timers and self._timers[0][2].callback is None:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def advance(self, delay_ms: float) -> None:
        """Lets time pass and fires what falls due, without a turn of the loop in between."""
        end_ms = self._passed_ms + delay_ms
        while (due_ms := self.next_due_ms) is not None and due_ms <= end_ms:
            self._fire_next()
        self._passed_ms = end_ms

    async def elapse(self, delay_ms: float) -> None:
        """The same with turns of the loop in between, so that tasks see every moment."""
        end_ms = self._passed_ms + delay_ms
        await settle()
        while (due_ms := self.next_due_ms) is not None and due_ms <= end_ms:
            self._fire_next()
            await settle()
        self._passed_ms = end_ms
        await settle()

    def stall(self, delay_ms: float) -> None:
        """Time passes and nothing runs, as when the loop or the machine stood still."""
        self._passed_ms += delay_ms

    def _fire_next(self) -> None:
        due_ms, _, timer = heapq.heappop(self._timers)
        self._passed_ms = max(self._passed_ms, due_ms)
        callback, timer.callback = timer.callback, None
        if callback is not None:
            callback()


async def settle() -> None:
    """Gives every task that can go on its turns."""
    for _ in range(_SETTLING_TURNS):
        await asyncio.sleep(0)
