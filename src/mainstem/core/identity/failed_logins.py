"""Who guesses waits: the answer to a failed log-in comes later with each failure from the same address.

The delay begins at `connection.failed.authentication.delay.ms` and doubles up to ten seconds. Failures are
counted by address and, within it, by the user that was named: a log-in that succeeds forgives those of its
own user and those that named nobody, so that who has an account cannot guess at others' without waiting.
Ten minutes without a failure forgive all. The table is bounded: when it is full the address that was quiet
for longest goes, so that somebody with many addresses gains no more than those have; the failures of
further users of an address are counted together, and no success forgives them.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

LONGEST_DELAY_MS: Final = 10_000
FORGOTTEN_AFTER_MS: Final = 600_000
MOST_ADDRESSES: Final = 10_000
MOST_USERS: Final = 8  # of an address, that are told apart
_MOST_DOUBLINGS: Final = 20


class _Failures:
    """Of an address."""

    __slots__ = ("by_user", "last_ms", "of_others")

    def __init__(self) -> None:
        self.by_user: dict[int | None, int] = {}  # by the hash of the name: names may be long
        self.of_others = 0
        self.last_ms = 0.0

    @property
    def total(self) -> int:
        return sum(self.by_user.values()) + self.of_others

    def add(self, user: int | None) -> None:
        if user in self.by_user or len(self.by_user) < MOST_USERS:
            self.by_user[user] = self.by_user.get(user, 0) + 1
        else:
            self.of_others += 1


class FailedLogins:
    def __init__(self, first_delay_ms: int, most_addresses: int = MOST_ADDRESSES) -> None:
        self.first_delay_ms = first_delay_ms
        self._most_addresses = most_addresses
        self._records: OrderedDict[str, _Failures] = OrderedDict()  # the quiet ones first

    def __len__(self) -> int:
        return len(self._records)

    def failures_of(self, ip: str) -> int:
        record = self._records.get(ip)
        return record.total if record is not None else 0

    def fail(self, ip: str, user: str | None, now_ms: float) -> int:
        """Counts a failure, of nobody if it named no user; how long its answer waits, in milliseconds."""
        record = self._records.pop(ip, None)
        if record is None or now_ms - record.last_ms > FORGOTTEN_AFTER_MS:
            record = _Failures()
        record.add(_key(user))
        record.last_ms = now_ms
        self._records[ip] = record
        if len(self._records) > self._most_addresses:
            self._records.popitem(last=False)
        delay_ms = self.first_delay_ms << min(record.total - 1, _MOST_DOUBLINGS)
        return min(delay_ms, LONGEST_DELAY_MS)

    def succeed(self, ip: str, user: str) -> None:
        record = self._records.get(ip)
        if record is None:
            return
        record.by_user.pop(_key(user), None)
        record.by_user.pop(None, None)
        if not record.total:
            del self._records[ip]


def _key(user: str | None) -> int | None:
    return None if user is None else hash(user)
