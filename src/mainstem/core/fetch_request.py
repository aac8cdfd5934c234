"""A fetch that may wait: reads at once, and again when enough was committed, until its time is over.

Nothing polls. A request that did not find its minimum registers with each of its partitions; a commit
tells it how many bytes came; once they may suffice it reads all its partitions again, at the end of
that turn of the loop. It answers exactly once, and leaves no registration behind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mainstem.core.append_turn import AppendTurn
from mainstem.core.partition import READ_COMMITTED, FetchResult, Partition
from mainstem.model.errors import MainstemError, PeerError
from mainstem.model.ids import ZERO_TOPIC_ID, TopicId
from mainstem.ports.clock import Clock, TimerHandle

FetchDone = Callable[[Sequence[FetchResult]], None]


class FetchEntry(NamedTuple):
    topic: str
    partition: int
    offset: int
    max_bytes: int
    leader_epoch: int = -1
    topic_id: TopicId = ZERO_TOPIC_ID


class FetchLimits(NamedTuple):
    min_bytes: int
    max_bytes: int
    max_wait_ms: int
    isolation: int


class FetchRequest:
    """`lookup` finds the partition of an entry or raises the error that the client is to get."""

    def __init__(
        self,
        entries: Sequence[FetchEntry],
        limits: FetchLimits,
        lookup: Callable[[FetchEntry], Partition],
        turn: AppendTurn,
        clock: Clock,
        done: FetchDone,
    ) -> None:
        self._entries = entries
        self._limits = limits
        self._lookup = lookup
        self._turn = turn
        self._clock = clock
        self._done: FetchDone | None = done
        self._missing_bytes = 0
        self._is_woken = False
        self._timer: TimerHandle | None = None
        self._watched: list[Partition] = []

    def start(self) -> None:
        results, size, has_error = self._read_all()
        limits = self._limits
        if has_error or size >= limits.min_bytes or limits.max_wait_ms <= 0 or not self._entries:
            self._answer(results)
            return
        self._missing_bytes = limits.min_bytes - size
        for entry in self._entries:
            partition = self._lookup(entry)
            partition.add_reader(self)
            self._watched.append(partition)
        self._timer = self._clock.call_later(limits.max_wait_ms, self._on_time_over)

    def cancel(self) -> None:
        """The client is gone."""
        self._done = None
        self._stop_watching()

    def on_committed(self, added_bytes: int, added_stable_bytes: int) -> None:
        self._missing_bytes -= added_stable_bytes if self._limits.isolation == READ_COMMITTED else added_bytes
        if self._missing_bytes <= 0:
            self._wake()

    def on_gone(self) -> None:
        self._wake()

    def _wake(self) -> None:
        if not self._is_woken:
            self._is_woken = True
            self._turn.defer(self._read_again)

    def _read_again(self) -> None:
        self._is_woken = False
        if self._done is None:
            return
        results, size, has_error = self._read_all()
        if has_error or size >= self._limits.min_bytes:
            self._answer(results)
        else:
            self._missing_bytes = self._limits.min_bytes - size

    def _on_time_over(self) -> None:
        self._timer = None
        if self._done is not None:
            self._answer(self._read_all()[0])

    def _answer(self, results: Sequence[FetchResult]) -> None:
        done, self._done = self._done, None
        self._stop_watching()
        if done is not None:
            done(results)

    def _stop_watching(self) -> None:
        for partition in self._watched:
            partition.remove_reader(self)
        self._watched = []
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _read_all(self) -> tuple[list[FetchResult], int, bool]:
        """Every entry's result, their bytes, and whether one is an error (which is answered at once)."""
        results: list[FetchResult] = []
        left = self._limits.max_bytes
        isolation = self._limits.isolation
        size = 0
        has_error = False
        at_least_one = True  # the first batch found goes out whole even if it is larger than asked for
        for entry in self._entries:
            try:
                partition = self._lookup(entry)
                result = partition.read(
                    entry.offset,
                    min(entry.max_bytes, left),
                    isolation=isolation,
                    at_least_one=at_least_one,
                )
            except MainstemError as error:
                has_error = True
                results.append(_failed(error.without_trace() if isinstance(error, PeerError) else error))
                continue
            if result.records is not None:
                size += result.records.length
                left -= result.records.length
                at_least_one = False
            results.append(result)
        return results, size, has_error


def _failed(error: MainstemError) -> FetchResult:
    return FetchResult(error, -1, -1, -1, None)
