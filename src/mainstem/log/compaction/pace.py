"""How fast a cleaning may go, and when it has to stop.

A cleaning runs in a thread beside the broker's loop, and both need the interpreter. So after every small
piece of work it lets go of it for a moment; without that the loop would wait for the interpreter's own
switch, several milliseconds, whenever it comes back from a system call. On top of it the bytes that are read
and written are held to `log.cleaner.io.max.bytes.per.second`, over all cleaner threads together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

GIVE_WAY_S: Final = 0.00005
RECORDS_PER_BREATH: Final = 256  # a quarter of a millisecond
RECORDS_PER_BATCH: Final = 8  # a batch costs what so many records do, whatever is in it
_LONGEST_DEBT_MS: Final = 1_000.0  # an idle throttle saves up no more than this
_LOOK_UP_EVERY_S: Final = 0.1  # while it waits: for a stop of the broker or the end of the log


class CleaningStopped(Exception):
    """The broker stops, or the log is gone: what was begun is taken back."""


class Throttle:
    """Shared by the cleaner threads. Each asks how long to wait for what it just did."""

    def __init__(self, monotonic_ms: Callable[[], float], bytes_per_second: float) -> None:
        self._monotonic_ms = monotonic_ms
        self._lock = threading.Lock()
        self._free_ms = monotonic_ms()  # when everything asked for so far is paid
        self.bytes_per_second = bytes_per_second

    def delay_ms(self, size_bytes: int) -> float:
        with self._lock:
            now_ms = self._monotonic_ms()
            self._free_ms = max(self._free_ms, now_ms - _LONGEST_DEBT_MS)
            self._free_ms += size_bytes * 1000.0 / self.bytes_per_second
            return max(0.0, self._free_ms - now_ms)


class Pace:
    """Of one cleaning."""

    def __init__(self, throttle: Throttle, stop: threading.Event, is_gone: Callable[[], bool]) -> None:
        self._throttle = throttle
        self._stop = stop
        self._is_gone = is_gone
        self._work = 0

    def breathe(self, records: int) -> None:
        """After work on so many records, or as long as on so many: lets others run when it is time.

        Raises `CleaningStopped`.
        """
        self._work += records
        if self._work < RECORDS_PER_BREATH:
            return
        self._work = 0
        if self._stop.wait(GIVE_WAY_S) or self._is_gone():
            raise CleaningStopped

    def account(self, size_bytes: int) -> None:
        """So many bytes were read or written: waits as long as the limit says."""
        left_s = self._throttle.delay_ms(size_bytes) / 1000.0
        while left_s > 0:
            if self._stop.wait(min(left_s, _LOOK_UP_EVERY_S)) or self._is_gone():
                raise CleaningStopped
            left_s -= _LOOK_UP_EVERY_S
