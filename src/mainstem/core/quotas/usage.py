"""What accounts used of their limits: remembered while they are in use, and for so many accounts at most."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final, Generic, NamedTuple, TypeVar

from mainstem.core.quotas.precedence import Account

MOST_ACCOUNTS: Final = 10_000  # of all limits together: then the one that was idle longest is forgotten
IDLE_MS: Final = 3_600_000  # after which an account is forgotten, as in Kafka
_DROPPED_PER_USE: Final = 2

M = TypeVar("M")  # how use is measured: a rate or a bucket


class UsageKey(NamedTuple):
    limit: str
    account: Account


class Usage(Generic[M]):
    """Of one limit by one account."""

    __slots__ = ("limit", "measure", "throttled_count", "throttled_ms", "used_ms")

    def __init__(self, measure: M) -> None:
        self.measure = measure
        self.limit = 0.0  # when it was used last
        self.used_ms = 0.0
        self.throttled_count = 0
        self.throttled_ms = 0  # told to clients, all together

    def note_throttle(self, throttle_ms: int) -> None:
        self.throttled_count += 1
        self.throttled_ms += throttle_ms


class Usages(Generic[M]):
    """In the order of their last use."""

    def __init__(self, new_measure: Callable[[], M], *, most: int = MOST_ACCOUNTS) -> None:
        self._new_measure = new_measure
        self._most = most
        self._usages: OrderedDict[UsageKey, Usage[M]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._usages)

    def __iter__(self) -> Iterator[tuple[UsageKey, Usage[M]]]:
        """Those used last come first."""
        return reversed(self._usages.items())

    def use(self, limit_name: str, account: Account, limit: float, now_ms: float) -> Usage[M]:
        key = UsageKey(limit_name, account)
        usage = self._usages.get(key)
        if usage is None:
            self._drop_idle(now_ms)
            usage = self._usages[key] = Usage(self._new_measure())
        else:
            self._usages.move_to_end(key)
        usage.used_ms = now_ms
        usage.limit = limit
        return usage

    def find(self, limit_name: str, account: Account) -> Usage[M] | None:
        return self._usages.get(UsageKey(limit_name, account))

    def _drop_idle(self, now_ms: float) -> None:
        """A new account makes room: so the number of those that idle shrinks, and no timer is needed."""
        for _ in range(_DROPPED_PER_USE):
            if not self._usages:
                return
            oldest = next(iter(self._usages.values()))
            if len(self._usages) < self._most and now_ms - oldest.used_ms < IDLE_MS:
                return
            self._usages.popitem(last=False)
