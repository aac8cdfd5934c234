"""Whoever waits as long as told takes exactly the limit in the long run, whatever the requests' sizes are."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mainstem.core.quotas.rates import TokenBucket, WindowedRate, Windows

LIMIT = 100_000.0

windows = st.builds(Windows, st.integers(1, 12), st.sampled_from([500, 1000, 3000]))
sizes = st.lists(st.floats(LIMIT / 200, LIMIT / 4), min_size=1, max_size=20)


# With a single window nothing of the one before is remembered: Kafka's rate is rough there, and so is ours.
@settings(deadline=None, max_examples=60)
@given(windows.filter(lambda of: of.number > 1), sizes, st.floats(0, 50))
def test_who_waits_takes_the_limit(of: Windows, pattern: list[float], pause_ms: float) -> None:
    """`pause_ms`: between a wait and the next request, as a network has it."""
    rate = WindowedRate(of)
    now_ms = taken = 0.0
    begun: tuple[float, float] | None = None
    once = LIMIT * of.number * of.size_ms / 1000  # what may be used at once after a silence
    total_ms = of.number * of.size_ms * 12 + 10_000
    step = 0
    while now_ms < total_ms:
        amount = pattern[step % len(pattern)]
        step += 1
        rate.add(amount, now_ms)
        taken += amount
        now_ms += rate.wait_ms(LIMIT, now_ms) + max(pause_ms, 0.1)
        if begun is None and now_ms >= of.number * of.size_ms * 2:
            begun = (now_ms, taken)  # what was free at the beginning is used up
    assert begun is not None
    used, allowed = taken - begun[1], LIMIT * (now_ms - begun[0]) / 1000
    wanted = sum(pattern) / len(pattern) / max(pause_ms, 0.1) * 1000  # what it would take if it did not wait
    assert used <= allowed * 1.02 + once  # the stretch may end right after such a burst
    if wanted > LIMIT * 2:
        assert used >= allowed * 0.98 - once


@given(windows, st.lists(st.tuples(st.floats(0, 5000), st.floats(0, LIMIT)), min_size=1, max_size=60))
def test_the_rate_is_that_of_a_model_which_remembers_everything(
    of: Windows, steps: list[tuple[float, float]]
) -> None:
    rate = WindowedRate(of)
    now_ms = 0.0
    opened: list[tuple[float, float]] = []  # start and amount of every window there ever was
    for pause_ms, amount in steps:
        now_ms += pause_ms
        rate.add(amount, now_ms)
        if not opened or now_ms - opened[-1][0] >= of.size_ms:
            opened.append((now_ms, 0.0))
        opened[-1] = (opened[-1][0], opened[-1][1] + amount)
        kept = [each for each in opened if each[0] > now_ms - of.number * of.size_ms]
        covered_ms = now_ms - kept[0][0]
        least = max(1, of.number - 1)
        covered_ms += max(0, least - covered_ms // of.size_ms) * of.size_ms
        expected = sum(amount for _, amount in kept) / covered_ms * 1000
        assert abs(rate.per_second(now_ms) - expected) <= max(1e-6, expected * 1e-6)


@given(windows, st.lists(st.tuples(st.floats(0, 5000), st.integers(1, 500)), max_size=60))
def test_a_bucket_gives_out_its_burst_and_what_came_in_since(
    of: Windows, steps: list[tuple[float, int]]
) -> None:
    bucket = TokenBucket(of)
    limit, now_ms, taken, largest = 7.0, 0.0, 0, 0
    for pause_ms, amount in steps:
        now_ms += pause_ms
        if bucket.wait_ms(limit, now_ms) > 0:
            continue  # refused, as a strict request is
        bucket.take(amount, limit, now_ms)
        taken += amount
        largest = max(largest, amount)
    assert taken <= bucket.burst(limit) + limit * now_ms / 1000 + largest + 1e-6
