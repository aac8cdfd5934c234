"""Memory for what comes in: shared, pooled, counted.

An idle connection owns no buffer. Every connection receives into the one shared buffer; a session copies
what it must keep. A large frame is received straight into a buffer of its own, which is taken from here
and given back: released ones wait in free lists by size class, so that a steady stream of large requests
touches no fresh memory.

What has come of requests is counted as it comes, whole requests and partial ones apart; a fresh buffer costs
nothing before it is filled. While whole requests hold more than the limit no connection starts another,
until enough was given back: they are answered, so that is soon. Partial ones may hold as much again, and no
more: beyond it a frame that grows above a few kilobytes closes its connection. So peers that begin requests
and never end them can keep out other large requests at worst, and never stop the rest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

SHARED_BYTES: Final = 64 * 1024
_SMALLEST_POOLED: Final = 64 * 1024
_LARGEST_POOLED: Final = 8 * 1024 * 1024


class RequestMemory:
    """See `heads.session.ReceiveBuffers`."""

    __slots__ = (
        "_free",
        "_free_bytes",
        "_free_limit",
        "_waiters",
        "held_bytes",
        "is_exhausted",
        "limit",
        "partial_bytes",
        "shared",
    )

    def __init__(self, limit: int = 64 << 20, free_limit: int = 16 << 20) -> None:
        self.shared = memoryview(bytearray(SHARED_BYTES))
        self.limit = limit
        self.held_bytes = 0  # by whole requests
        self.partial_bytes = 0
        self.is_exhausted = False  # held_bytes went above the limit and is not below 7/8 of it yet
        self._free: dict[int, list[bytearray]] = {}
        self._free_bytes = 0
        self._free_limit = free_limit
        self._waiters: deque[Callable[[], None]] = deque()

    @property
    def is_overdrawn(self) -> bool:
        return self.partial_bytes > self.limit

    def charge(self, count: int) -> None:
        self.held_bytes += count
        if count > 0:
            if self.held_bytes > self.limit:
                self.is_exhausted = True
        elif self.is_exhausted and self.held_bytes <= self.limit - self.limit // 8:
            self.is_exhausted = False
            self._wake()

    def charge_partial(self, count: int) -> None:
        self.partial_bytes += count

    def take(self, size: int) -> bytearray:
        capacity = size if size < _SMALLEST_POOLED else _size_class(size)
        free = self._free.get(capacity)
        if free:
            self._free_bytes -= capacity
            return free.pop()
        return bytearray(capacity)

    def give(self, buffer: bytearray) -> None:
        capacity = len(buffer)
        if (
            _SMALLEST_POOLED <= capacity <= _LARGEST_POOLED
            and self._free_bytes + capacity <= self._free_limit
        ):
            self._free.setdefault(capacity, []).append(buffer)
            self._free_bytes += capacity

    def when_room(self, callback: Callable[[], None]) -> None:
        self._waiters.append(callback)

    def _wake(self) -> None:
        """In the order of waiting, and only as long as there is room."""
        for _ in range(len(self._waiters)):
            if self.is_exhausted:
                return
            self._waiters.popleft()()


def _size_class(size: int) -> int:
    """The next multiple of an eighth of the power of two below: at most an eighth is wasted."""
    step = 1 << max(13, size.bit_length() - 4)
    return (size + step - 1) // step * step
