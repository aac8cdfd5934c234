"""Which partition a record goes to, the way Java's producer chooses.

A record with a key goes to `murmur2(key)` modulo the number of partitions, so that all producers of
a topic, in whatever language, agree. Records without a key stay on one partition until its batch is
full and then move to another: few large batches instead of many small ones.
"""

from __future__ import annotations

from random import Random
from typing import Final

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The 32-bit MurmurHash2 of `data` under the seed that Kafka uses, as an unsigned number."""
    length = len(data)
    value = _SEED ^ length
    whole = length & ~3
    for position in range(0, whole, 4):
        word = int.from_bytes(data[position : position + 4], "little") * _MULTIPLIER & _MASK
        word ^= word >> 24
        value = (value * _MULTIPLIER & _MASK) ^ (word * _MULTIPLIER & _MASK)
    if length > whole:
        value ^= int.from_bytes(data[whole:], "little")
        value = value * _MULTIPLIER & _MASK
    value ^= value >> 13
    value = value * _MULTIPLIER & _MASK
    return value ^ (value >> 15)


def partition_for_key(key: bytes, partition_count: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


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
