"""Ranges of offsets: divided among tasks, and cut down to what one batch may take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from mainstem.model.ids import TopicPartition
from mainstem.spark.option_reading import Offsets


class OffsetRange(NamedTuple):
    partition: TopicPartition
    start: int
    end: int  # not included

    @property
    def size(self) -> int:
        return self.end - self.start


def split_ranges(
    ranges: Sequence[OffsetRange], *, min_count: int | None = None, max_size: int | None = None
) -> list[OffsetRange]:
    """One range a task: as they are, unless that makes fewer than `min_count` or one above `max_size`.

    Small ones stay whole; what is added up to `min_count` goes to large ones, by size.
    """
    ranges = [found for found in ranges if found.size > 0]
    parts = [1 if max_size is None else -(-found.size // max_size) for found in ranges]
    if min_count is not None and sum(parts) < min_count:
        total = sum(found.size for found in ranges)
        parts = [
            max(part, min(found.size, (2 * min_count * found.size + total) // (2 * total)))
            for part, found in zip(parts, ranges, strict=True)
        ]
    return [piece for found, part in zip(ranges, parts, strict=True) for piece in _pieces(found, part)]


def _pieces(found: OffsetRange, count: int) -> list[OffsetRange]:
    cuts = [found.start + found.size * number // count for number in range(count + 1)]
    return [OffsetRange(found.partition, start, end) for start, end in pairwise(cuts)]


def limited_ends(
    starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], limit: int
) -> Offsets:
    """Ends that leave no more than `limit` offsets in all: each partition its share of what waits."""
    waiting = {partition: max(0, ends[partition] - starts[partition]) for partition in ends}
    total = sum(waiting.values())
    if total <= limit:
        return dict(ends)
    shares = {partition: size * limit // total for partition, size in waiting.items()}
    left = limit - sum(shares.values())
    # What rounding left over goes to those that lost most by it, so that a small one gets its turn too.
    by_loss = sorted(waiting, key=lambda part: (-(waiting[part] * limit % total), part))
    for partition in by_loss[:left]:
        shares[partition] += 1
    return {partition: starts[partition] + shares[partition] for partition in ends}
