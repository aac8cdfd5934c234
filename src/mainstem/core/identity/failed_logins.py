"""Who guesses waits: the answer to a failed log-in comes later with each failure from the same address.

The delay begins at `connection.failed.authentication.delay.ms` and doubles up to ten seconds; a log-in that
succeeds, or ten minutes without a failure, forgets the address. The table is bounded: when it is full the
address that was quiet for longest goes, so that somebody with many addresses gains no more than those have.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

LONGEST_DELAY_MS: Final = 10_000
FORGOTTEN_AFTER_MS: Final = 600_000
MOST_ADDRESSES: Final = 10_000
_MOST_DOUBLINGS: Final = 20


class _Record(NamedTuple):
    failures: int
    last_ms: float


class FailedLogins:
    def __init__(self, first_delay_ms: int, most_addresses: int = MOST_ADDRESSES) -> None:
        self.first_delay_ms = first_delay_ms
        self._most_addresses = most_addresses
        self._records: OrderedDict[str, _Record] = OrderedDict()  # the quiet ones first

    def __len__(self) -> int:
        return len(self._records)

    def failures_of(self, ip: str) -> int:
        record = self._records.get(ip)
        return record.failures if record is not None else 0

    def fail(self, ip: str, now_ms: float) -> int:
        """Counts a failure; how long its answer waits, in milliseconds."""
        record = self._records.pop(ip, None)
        is_old = record is None or now_ms - record.last_ms > FORGOTTEN_AFTER_MS
        failures = 1 if is_old or record is None else record.failures + 1
        self._records[ip] = _Record(failures, now_ms)
        if len(self._records) > self._most_addresses:
            self._records.popitem(last=False)
        delay_ms = self.first_delay_ms << min(failures - 1, _MOST_DOUBLINGS)
        return min(delay_ms, LONGEST_DELAY_MS)

    def succeed(self, ip: str) -> None:
        self._records.pop(ip, None)
