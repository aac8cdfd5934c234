from __future__ import annotations

import threading

import pytest

from mainstem.log.compaction.pace import RECORDS_PER_BREATH, CleaningStopped, Pace, Throttle


class Watch:
    def __init__(self) -> None:
        self.time_ms = 0.0

    def monotonic_ms(self) -> float:
        return self.time_ms


def test_all_who_share_a_throttle_keep_to_its_limit_together() -> None:
    watch = Watch()
    throttle = Throttle(watch.monotonic_ms, 1_000.0)
    assert throttle.delay_ms(500) == 500.0
    assert throttle.delay_ms(500) == 1_000.0
    watch.time_ms = 900.0
    assert throttle.delay_ms(100) == 200.0


def test_an_idle_throttle_saves_up_a_second_and_no_more() -> None:
    watch = Watch()
    throttle = Throttle(watch.monotonic_ms, 1_000.0)
    watch.time_ms = 3_600_000.0
    assert throttle.delay_ms(1_000) == 0.0
    assert throttle.delay_ms(1_000) == 1_000.0


def test_a_limit_that_changes_counts_from_the_next_piece_on() -> None:
    throttle = Throttle(Watch().monotonic_ms, 1_000.0)
    throttle.bytes_per_second = 10.0
    assert throttle.delay_ms(1) == 100.0


def test_a_stop_or_a_log_that_is_gone_ends_the_work() -> None:
    stop, gone = threading.Event(), False
    pace = Pace(Throttle(Watch().monotonic_ms, 1e9), stop, lambda: gone)
    pace.breathe(RECORDS_PER_BREATH)
    pace.account(100)
    gone = True
    pace.breathe(1)  # looks up only now and then
    with pytest.raises(CleaningStopped):
        pace.breathe(RECORDS_PER_BREATH)
    gone = False
    stop.set()
    with pytest.raises(CleaningStopped):
        pace.breathe(RECORDS_PER_BREATH)
    with pytest.raises(CleaningStopped):
        pace.account(10**12)
