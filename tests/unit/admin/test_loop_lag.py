"""How late the loop is, with a loop whose lateness the test decides."""

from __future__ import annotations

from collections.abc import Callable

from mainstem.admin.loop_lag import BOUNDS_S, INTERVAL_MS, LoopLag


class LateClock:
    """Calls back when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waiting: Callable[[], object] | None = None
        self.cancelled = 0

    def monotonic_ms(self) -> float:
        return self.now

    def now_ms(self) -> int:
        return int(self.now)

    def call_later(self, delay_ms: float, callback: Callable[[], object]) -> LateClock:
        assert delay_ms == INTERVAL_MS
        self.waiting = callback
        return self

    def cancel(self) -> None:
        self.cancelled += 1
        self.waiting = None

    def fire(self, late_ms: float) -> None:
        callback, self.waiting = self.waiting, None
        assert callback is not None
        self.now += INTERVAL_MS + late_ms
        callback()


def test_lateness_is_counted_in_its_bucket() -> None:
    clock = LateClock()
    lag = LoopLag(clock)
    lag.start()
    for late_ms in (0.0, 3.0, 400.0, 60_000.0):
        clock.fire(late_ms)
    assert lag.count == 4
    assert lag.total_s == 60.403
    assert lag.buckets[0] == 1
    assert lag.buckets[BOUNDS_S.index(0.005)] == 1
    assert lag.buckets[BOUNDS_S.index(0.5)] == 1
    assert lag.buckets[-1] == 1


def test_a_timer_that_is_early_is_not_late() -> None:
    clock = LateClock()
    lag = LoopLag(clock)
    lag.start()
    clock.fire(-5.0)
    assert (lag.total_s, lag.buckets[0]) == (0.0, 1)


def test_it_stops() -> None:
    clock = LateClock()
    lag = LoopLag(clock)
    lag.start()
    lag.stop()
    lag.stop()
    assert clock.waiting is None
    assert clock.cancelled == 1
