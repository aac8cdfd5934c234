"""Which partition a record goes to, the way Java's producer chooses.

A record with a key goes to `murmur2(key)` modulo the number of partitions, so that all producers of
a topic, in whatever language, agree. Records without a key stay on one partition until its batch is
full and then move to another: few large batches instead of many small ones.
"""

from __future__ import annotations

from random import Random

from mainstem.model.murmur import murmur2, partition_for_key

__all__ = ["StickyChoice", "murmur2", "partition_for_key"]


class StickyChoice:
    """The partition for records without a key; `move_on` picks another."""

    def __init__(self, random: Random | None = None) -> None:
        self._random = random or Random()
        self._current = -1

    def partition(self, partition_count: int) -> int:
        if not 0 <= self._current < partition_count:
            self._current = self._random.randrange(partition_count)
        return self._current

    def move_on(self, partition_count: int) -> None:
        if partition_count > 1:
            step = 1 + self._random.randrange(partition_count - 1)
            self._current = (self._current + step) % partition_count
