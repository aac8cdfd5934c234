from __future__ import annotations

import pytest

from mainstem.core.quotas.rates import TokenBucket, WindowedRate, Windows

WINDOWS = Windows(11, 1000)


def test_who_was_silent_may_use_all_but_one_window_at_once() -> None:
    rate = WindowedRate(WINDOWS)
    rate.add(1000, 5000)
    assert rate.per_second(5000) == 100
    assert rate.wait_ms(100, 5000) == 0
    rate.add(1, 5000)
    assert rate.wait_ms(100, 5000) == pytest.approx(10)  # one more at 100 a second


def test_after_the_wait_the_rate_is_the_limit_again() -> None:
    rate = WindowedRate(WINDOWS)
    now_ms = 0.0
    rate.add(3000, now_ms)
    now_ms += rate.wait_ms(100, now_ms)
    assert now_ms == 20_000
    assert rate.per_second(now_ms) <= 100


def test_old_windows_are_forgotten() -> None:
    rate = WindowedRate(Windows(3, 1000))
    rate.add(600, 0)
    rate.add(60, 1000)
    assert rate.per_second(1000) == 330  # over two windows, of which one is just beginning
    assert rate.per_second(3000) == 30
    assert rate.per_second(4000) == 0


def test_what_is_taken_back_was_never_used() -> None:
    rate = WindowedRate(WINDOWS)
    rate.add(500, 0)
    rate.add(-500, 10)
    assert rate.per_second(20) == 0


def test_one_window_alone_has_its_own_length() -> None:
    rate = WindowedRate(Windows(1, 2000))
    rate.add(100, 0)
    assert rate.per_second(0) == 50


def test_a_bucket_begins_full() -> None:
    bucket = TokenBucket(Windows(11, 1000))
    assert bucket.tokens(2, 0) == 22
    assert bucket.wait_ms(2, 0) == 0


def test_a_bucket_may_go_into_debt_and_pays_it_with_time() -> None:
    bucket = TokenBucket(Windows(5, 1000))
    bucket.take(14, 2, 0)
    assert bucket.wait_ms(2, 0) == 2000
    assert bucket.wait_ms(2, 1000) == 1000
    assert bucket.wait_ms(2, 2000) == 0


def test_a_bucket_never_holds_more_than_its_burst() -> None:
    bucket = TokenBucket(Windows(5, 1000))
    bucket.take(1, 2, 0)
    assert bucket.tokens(2, 1_000_000) == 10


def test_a_limit_that_is_lowered_lowers_what_the_bucket_holds() -> None:
    bucket = TokenBucket(Windows(5, 1000))
    assert bucket.tokens(2, 0) == 10
    assert bucket.tokens(1, 0) == 5
