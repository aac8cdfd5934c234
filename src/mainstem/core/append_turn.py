"""The turn of the loop as the unit of writing.

Connections hand over what they received; when all of them had their say in this turn, `run` writes
each touched partition once. Callbacks that must not run inside their own call are deferred to the end
of the same turn.
"""

from __future__ import annotations

from collections.abc import Callable

from mainstem.core.partition import Partition


class AppendTurn:
    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self._call_soon = call_soon
        self._is_scheduled = False
        self._partitions: list[Partition] = []
        self._deferred: list[Callable[[], None]] = []

    def add(self, partition: Partition) -> None:
        """Called for the first batch that a partition gets in a turn."""
        self._partitions.append(partition)
        if not self._is_scheduled:
            self._schedule()

    def defer(self, callback: Callable[[], None]) -> None:
        """Runs `callback` after this turn's writes."""
        self._deferred.append(callback)
        if not self._is_scheduled:
            self._schedule()

    def _schedule(self) -> None:
        self._is_scheduled = True
        self._call_soon(self.run)

    def run(self) -> None:
        self._is_scheduled = False
        partitions, self._partitions = self._partitions, []
        for partition in partitions:
            partition.write_staged()
        deferred, self._deferred = self._deferred, []
        for callback in deferred:
            callback()
