"""Writes of one producer to one partition that wait until the coordinator knows of their transaction."""

from __future__ import annotations

from collections.abc import Callable

Then = Callable[[Exception | None], None]  # goes on with the write, at once, or is told why it must not


class UnverifiedWrites:
    """In the order in which they came. Finished once: what a marker has cut off stays cut off."""

    __slots__ = ("_waiting", "producer_epoch")

    def __init__(self, producer_epoch: int) -> None:
        self.producer_epoch = producer_epoch
        self._waiting: list[Then] = []

    def add(self, then: Then) -> None:
        self._waiting.append(then)

    def finish(self, error: Exception | None) -> None:
        waiting, self._waiting = self._waiting, []
        for then in waiting:
            then(error)
