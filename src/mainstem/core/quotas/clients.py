"""The quotas of clients: what a head asks before it answers.

A head charges what a request took; the answer is how long the client has to wait, in milliseconds. The head
tells that to the client with the answer, which is sent at once, and then reads nothing more from its
connection for so long: so a client that does not care is slowed down all the same, and loses nothing.

While no quota is set, `is_active` is false and nobody asks.

    producer_byte_rate         charged with the size of each produce request; the batches are written
    consumer_byte_rate         charged with what a fetch response holds; over the limit it is taken back, and
                               the response leaves empty
    request_percentage         charged with the time that the loop spent on the request; one wait is at most
                               one window long
    controller_mutation_rate   a bucket: see `mutations`
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from mainstem.config.broker import BrokerConfig
from mainstem.core.errors import ThrottlingQuotaExceeded
from mainstem.core.identity.principal import Principal
from mainstem.core.image import ClusterImage, MetadataDelta
from mainstem.core.quotas.entity import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
)
from mainstem.core.quotas.precedence import Account, Quota, QuotaTable
from mainstem.core.quotas.rates import TokenBucket, WindowedRate, Windows
from mainstem.core.quotas.usage import Usage, Usages

MOST_RESOLVED: Final = 10_000  # clients whose quota is remembered: then all are looked up again
_OF_CLIENTS: Final = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE)
_PERCENT_PER_NS: Final = 100 / 1e9  # of a second of one core


def quota_windows(config: BrokerConfig) -> Windows:
    return Windows(config.quota_window_num, config.quota_window_size_seconds * 1000)


class AccountReport(NamedTuple):
    limit_name: str
    account: Account
    limit: float
    rate: float  # per second, now; of a bucket what it may still give out
    throttled_count: int
    throttled_ms: int


class ClientQuotas:
    def __init__(
        self, windows: Windows, mutation_windows: Windows, monotonic_ms: Callable[[], float]
    ) -> None:
        self.is_active = False  # some client has some quota
        self.limits_requests = False  # by their time
        self._windows = windows
        self._monotonic_ms = monotonic_ms
        self._table = QuotaTable({})
        self._resolved: dict[tuple[str, str, str], Quota | None] = {}
        self._rates: Usages[WindowedRate] = Usages(lambda: WindowedRate(windows))
        self._buckets: Usages[TokenBucket] = Usages(lambda: TokenBucket(mutation_windows))

    @classmethod
    def of(cls, config: BrokerConfig, monotonic_ms: Callable[[], float]) -> ClientQuotas:
        return cls(
            quota_windows(config),
            Windows(config.controller_quota_window_num, config.controller_quota_window_size_seconds * 1000),
            monotonic_ms,
        )

    def on_image(self, image: ClusterImage, delta: MetadataDelta) -> None:
        if not delta.quotas_changed:
            return
        self._table = QuotaTable(image.quotas)
        self._resolved.clear()
        self.is_active = any(self._table.has(limit) for limit in _OF_CLIENTS)
        self.limits_requests = self._table.has(REQUEST_PERCENTAGE)

    # --- bytes and time

    def charge_produce(self, principal: Principal, client_id: str | None, count: int) -> int:
        return self._charge(PRODUCER_BYTE_RATE, principal, client_id, count)

    def charge_fetch(self, principal: Principal, client_id: str | None, count: int) -> int:
        return self._charge(CONSUMER_BYTE_RATE, principal, client_id, count)

    def take_back_fetch(self, principal: Principal, client_id: str | None, count: int) -> None:
        """The bytes were charged, and are not sent after all."""
        quota = self._quota(CONSUMER_BYTE_RATE, principal, client_id)
        if quota is None:
            return
        usage = self._rates.find(CONSUMER_BYTE_RATE, quota.account)
        if usage is not None:
            usage.measure.add(-count, self._monotonic_ms())

    def most_fetched(self, principal: Principal, client_id: str | None) -> int | None:
        """What one fetch may bring: more would be over the limit however long the client waited."""
        quota = self._quota(CONSUMER_BYTE_RATE, principal, client_id)
        return None if quota is None else max(1, int(quota.limit * self._windows.span_s))

    def charge_time(self, principal: Principal, client_id: str | None, spent_ns: int) -> int:
        return self._charge(
            REQUEST_PERCENTAGE,
            principal,
            client_id,
            spent_ns * _PERCENT_PER_NS,
            longest_ms=self._windows.size_ms,
        )

    def _charge(
        self,
        limit_name: str,
        principal: Principal,
        client_id: str | None,
        amount: float,
        longest_ms: float | None = None,
    ) -> int:
        quota = self._quota(limit_name, principal, client_id)
        if quota is None:
            return 0
        now_ms = self._monotonic_ms()
        usage = self._rates.use(limit_name, quota.account, quota.limit, now_ms)
        usage.measure.add(amount, now_ms)
        wait_ms = usage.measure.wait_ms(quota.limit, now_ms)
        throttle_ms = round(wait_ms if longest_ms is None else min(wait_ms, longest_ms))
        if throttle_ms > 0:
            usage.note_throttle(throttle_ms)
        return throttle_ms

    def _quota(self, limit_name: str, principal: Principal, client_id: str | None) -> Quota | None:
        key = (limit_name, principal.name, client_id or "")
        if key in self._resolved:
            return self._resolved[key]
        if len(self._resolved) >= MOST_RESOLVED:
            self._resolved.clear()
        quota = self._resolved[key] = self._table.of_client(*key)
        return quota

    # --- changes of metadata

    def mutations(
        self, principal: Principal, client_id: str | None, *, is_strict: bool
    ) -> MutationAllowance | None:
        """For one request; None: as much as it likes.

        Strict: what comes when the bucket is in debt is refused. Else it is done, and the client waits.
        """
        quota = self._quota(CONTROLLER_MUTATION_RATE, principal, client_id)
        if quota is None:
            return None
        return MutationAllowance(self._buckets, quota, self._monotonic_ms, is_strict=is_strict)

    # --- for metrics

    def reports(self, most: int) -> Iterator[AccountReport]:
        """Of so many accounts of bytes and time, and of as many of changes: those used last come first."""
        now_ms = self._monotonic_ms()
        for (name, account), usage in islice(self._rates, most):
            rate = usage.measure.per_second(now_ms)
            yield AccountReport(name, account, usage.limit, rate, usage.throttled_count, usage.throttled_ms)
        for (name, account), bucket in islice(self._buckets, most):
            tokens = bucket.measure.tokens(bucket.limit, now_ms)
            yield AccountReport(
                name, account, bucket.limit, tokens, bucket.throttled_count, bucket.throttled_ms
            )


class MutationAllowance:
    """What one request may change. `throttle_ms` is how long its client is to wait afterwards."""

    def __init__(
        self,
        buckets: Usages[TokenBucket],
        quota: Quota,
        monotonic_ms: Callable[[], float],
        *,
        is_strict: bool,
    ) -> None:
        self.throttle_ms = 0
        self._buckets = buckets
        self._quota = quota
        self._monotonic_ms = monotonic_ms
        self._is_strict = is_strict

    def take(self, count: int) -> None:
        """So many partitions are about to be made or removed. Raises ThrottlingQuotaExceeded."""
        limit, account = self._quota
        now_ms = self._monotonic_ms()
        usage = self._buckets.use(CONTROLLER_MUTATION_RATE, account, limit, now_ms)
        if self._is_strict:
            debt_ms = usage.measure.wait_ms(limit, now_ms)
            if debt_ms > 0:
                self._throttle(usage, debt_ms)
                raise ThrottlingQuotaExceeded(self.throttle_ms)
            usage.measure.take(count, limit, now_ms)
            return
        usage.measure.take(count, limit, now_ms)
        debt_ms = usage.measure.wait_ms(limit, now_ms)
        if debt_ms > 0:
            self._throttle(usage, debt_ms)

    def _throttle(self, usage: Usage[TokenBucket], debt_ms: float) -> None:
        throttle_ms = max(1, round(debt_ms))
        usage.throttled_count += not self.throttle_ms
        usage.throttled_ms += max(0, throttle_ms - self.throttle_ms)
        self.throttle_ms = max(self.throttle_ms, throttle_ms)
