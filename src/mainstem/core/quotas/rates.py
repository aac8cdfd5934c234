"""How much of a limit was used: a rate over sliding windows, and a bucket of tokens. Both as Kafka has them.

**Rate.** Time is cut into windows of some length; the last `number` of them are remembered. What was used
in them, divided by the time that they cover, is the rate; that time is never less than `number - 1` whole
windows. So somebody who was silent may use `number - 1` windows' worth at once before the rate is above the
limit, and from then on the limit holds over every stretch of that length.

    over the limit by a factor f   ->   wait (f - 1) x the time covered; by then the rate is the limit again

**Bucket.** Tokens come in at the limit's rate, up to `burst`; using takes them out, and may take more than
there are (a debt). Nobody may use while the bucket is in debt.

Time is monotonic milliseconds, given by who asks, so that a test owns it.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple


class Windows(NamedTuple):
    number: int
    size_ms: int

    @property
    def span_s(self) -> float:
        """The least time that a rate is taken over."""
        return max(1, self.number - 1) * self.size_ms / 1000


class WindowedRate:
    __slots__ = ("_samples", "_total", "_windows")

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._samples: deque[list[float]] = deque()  # start and amount of each window, oldest first
        self._total = 0.0

    def add(self, amount: float, now_ms: float) -> None:
        """A negative amount takes back what was added in this window."""
        self._forget(now_ms)
        samples = self._samples
        if not samples or now_ms - samples[-1][0] >= self._windows.size_ms:
            samples.append([now_ms, 0.0])
        samples[-1][1] += amount
        self._total += amount

    def per_second(self, now_ms: float) -> float:
        self._forget(now_ms)
        return max(0.0, self._total) / self.span_s(now_ms)

    def span_s(self, now_ms: float) -> float:
        """The time that the rate is taken over."""
        if not self._samples:
            return self._windows.span_s
        size_ms = self._windows.size_ms
        elapsed_ms = now_ms - self._samples[0][0]
        missing = max(1, self._windows.number - 1) - elapsed_ms // size_ms
        return (elapsed_ms + max(0.0, missing) * size_ms) / 1000

    def wait_ms(self, limit: float, now_ms: float) -> float:
        """How long to wait until the rate is the limit again, if nothing is added."""
        rate = self.per_second(now_ms)
        return 0.0 if rate <= limit else (rate - limit) / limit * self.span_s(now_ms) * 1000

    def _forget(self, now_ms: float) -> None:
        samples = self._samples
        oldest_ms = now_ms - self._windows.number * self._windows.size_ms
        while samples and samples[0][0] <= oldest_ms:
            self._total -= samples.popleft()[1]
        if not samples:
            self._total = 0.0  # what rounding left behind


class TokenBucket:
    __slots__ = ("_filled_ms", "_tokens", "_windows")

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._tokens: float | None = None  # full, whatever the limit will be
        self._filled_ms = 0.0

    def tokens(self, limit: float, now_ms: float) -> float:
        burst = self.burst(limit)
        if self._tokens is None:
            self._tokens = burst
        else:
            passed_ms = max(0.0, now_ms - self._filled_ms)
            self._tokens = min(burst, self._tokens + limit * passed_ms / 1000)
        self._filled_ms = now_ms
        return self._tokens

    def take(self, amount: float, limit: float, now_ms: float) -> None:
        self._tokens = min(self.burst(limit), self.tokens(limit, now_ms) - amount)

    def wait_ms(self, limit: float, now_ms: float) -> float:
        """How long until the debt is paid; 0 where there is none."""
        return max(0.0, -self.tokens(limit, now_ms) / limit * 1000)

    def burst(self, limit: float) -> float:
        return limit * self._windows.number * self._windows.size_ms / 1000
