"""A look at everything that a coordinator's shards hold, again and again.

    waiting --interval--> names collected --slice, slice, ...--> waiting

What a name stands for may be gone, and its shard may have resigned, by the time of its visit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar

from mainstem.core.coordinator.led_shards import LedShard, LedShards
from mainstem.model.errors import MainstemError
from mainstem.ports.clock import Clock, TimerHandle

SLICE_NAMES: Final = 500

S = TypeVar("S", bound=LedShard)
_log = logging.getLogger(__name__)


class Sweep(Generic[S]):
    """`interval_ms` is asked for before each wait: the option behind it may change."""

    def __init__(
        self,
        clock: Clock,
        shards: LedShards[S],
        interval_ms: Callable[[], int],
        names_of: Callable[[S], Iterable[str]],
        visit: Callable[[S, str, int], None],
    ) -> None:
        self._clock = clock
        self._shards = shards
        self._interval_ms = interval_ms
        self._names_of = names_of
        self._visit = visit  # the shard, a name of it, and the time of now in ms
        self._timer: TimerHandle | None = None

    def start(self) -> None:
        """Does nothing when it has started already."""
        if self._timer is None:
            self._wait()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self) -> None:
        self._timer = self._clock.call_later(self._interval_ms(), self._begin)

    def _begin(self) -> None:
        left = [(shard, name) for shard in self._shards.active() for name in self._names_of(shard)]
        left.reverse()
        self._go_on(left)

    def _go_on(self, left: list[tuple[S, str]]) -> None:
        """A slice now and the rest in later turns: the loop has other things to do."""
        now_ms = self._clock.now_ms()
        for _ in range(min(SLICE_NAMES, len(left))):
            shard, name = left.pop()
            try:
                self._visit(shard, name, now_ms)
            except MainstemError as error:
                _log.debug("%s: not swept: %s", name, error)
        if left:
            self._timer = self._clock.call_later(0, lambda: self._go_on(left))
        else:
            self._wait()
