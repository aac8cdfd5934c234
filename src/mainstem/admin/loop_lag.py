"""How late the loop is: a timer that is due every tenth of a second, and by how much it came too late.

What holds the loop (a long slice of Python, a blocking call that should not be there) holds every
connection: this is the first figure to look at when latencies rise and the disks are idle.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from mainstem.ports.clock import Clock, TimerHandle

INTERVAL_MS: Final = 100.0
BOUNDS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


class LoopLag:
    __slots__ = ("_clock", "_due_ms", "_timer", "buckets", "count", "total_s")

    def __init__(self, clock: Clock) -> None:
        self.count = 0
        self.total_s = 0.0
        self.buckets = [0] * (len(BOUNDS_S) + 1)  # the last is for what is beyond all bounds
        self._clock = clock
        self._due_ms = 0.0
        self._timer: TimerHandle | None = None

    def start(self) -> None:
        self._due_ms = self._clock.monotonic_ms() + INTERVAL_MS
        self._timer = self._clock.call_later(INTERVAL_MS, self._sample)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sample(self) -> None:
        lag_s = max(0.0, self._clock.monotonic_ms() - self._due_ms) / 1000.0
        self.count += 1
        self.total_s += lag_s
        self.buckets[bisect_left(BOUNDS_S, lag_s)] += 1
        self.start()
