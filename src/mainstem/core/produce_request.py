"""A produce request on its way: one slot a partition, answered when the last slot is filled.

The request answers exactly once: when every slot has its result, or when its time is over. A slot
that is filled after the time-out is dropped; its records are written and may well be committed, which
is what a time-out means to a producer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mainstem.core.errors import RequestTimedOut
from mainstem.core.partition import ProduceResult

ProduceDone = Callable[[Sequence[ProduceResult]], None]

_PENDING = ProduceResult(-1, -1, -1, None)


class ProduceRequest:
    __slots__ = ("_done", "_missing", "_results", "deadline_ms")

    def __init__(self, count: int, done: ProduceDone) -> None:
        self._results: list[ProduceResult] = [_PENDING] * count
        self._missing = count
        self._done: ProduceDone | None = done
        self.deadline_ms = 0.0  # on the monotonic clock; set only when the request has to wait

    @property
    def is_answered(self) -> bool:
        return self._done is None

    def complete(self, index: int, result: ProduceResult) -> None:
        if self._done is None:
            return
        self._results[index] = result
        self._missing -= 1
        if self._missing == 0:
            done, self._done = self._done, None
            done(self._results)

    def expire(self) -> None:
        """Answers the slots that are still open with a time-out.

        Their buffers may be in a write that is under way, so the receive buffer must not be reused:
        the results say so by their error, and the head lets such a buffer go instead of pooling it.
        """
        if self._done is None:
            return
        error = RequestTimedOut("the records were not committed in the time the request allows")
        self._results = [
            ProduceResult(-1, -1, -1, error) if result is _PENDING else result for result in self._results
        ]
        done, self._done = self._done, None
        done(self._results)
