"""The quotas of addresses: how many connections one of them may open in a second.

A connection above the rate is not counted. It is accepted, held without a word until the rate is the limit
again, at most for one window, and then closed: so a peer that connects in a loop is slowed down, instead of
being told at once to try again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from mainstem.core.image import ClusterImage, MetadataDelta
from mainstem.core.quotas.clients import AccountReport
from mainstem.core.quotas.entity import CONNECTION_CREATION_RATE
from mainstem.core.quotas.precedence import QuotaTable
from mainstem.core.quotas.rates import WindowedRate, Windows
from mainstem.core.quotas.usage import Usages


class ConnectionQuotas:
    def __init__(self, windows: Windows, monotonic_ms: Callable[[], float]) -> None:
        self.is_active = False
        self._windows = windows
        self._monotonic_ms = monotonic_ms
        self._table = QuotaTable({})
        self._rates: Usages[WindowedRate] = Usages(lambda: WindowedRate(windows))

    def on_image(self, image: ClusterImage, delta: MetadataDelta) -> None:
        if delta.quotas_changed:
            self._table = QuotaTable(image.quotas)
            self.is_active = self._table.has(CONNECTION_CREATION_RATE)

    def delay_ms(self, ip: str) -> int:
        """0: the connection is welcome. Else it is to be closed after so long."""
        if not self.is_active:
            return 0
        quota = self._table.of_address(CONNECTION_CREATION_RATE, ip)
        if quota is None:
            return 0
        now_ms = self._monotonic_ms()
        usage = self._rates.use(CONNECTION_CREATION_RATE, quota.account, quota.limit, now_ms)
        usage.measure.add(1, now_ms)
        longest_ms = self._windows.size_ms
        wait_ms = usage.measure.wait_ms(quota.limit, now_ms) if quota.limit > 0 else longest_ms
        if wait_ms <= 0:
            return 0
        usage.measure.add(-1, now_ms)
        delay_ms = max(1, min(longest_ms, round(wait_ms)))
        usage.note_throttle(delay_ms)
        return delay_ms

    def reports(self, most: int) -> Iterator[AccountReport]:
        now_ms = self._monotonic_ms()
        for (name, account), usage in islice(self._rates, most):
            rate = usage.measure.per_second(now_ms)
            yield AccountReport(name, account, usage.limit, rate, usage.throttled_count, usage.throttled_ms)
