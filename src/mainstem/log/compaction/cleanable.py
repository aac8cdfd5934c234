"""How dirty a log is, and how far it may be cleaned.

    clean    below the first dirty offset: an earlier cleaning took note of all keys up to there
    dirty    from there on; cleanable as far as `first_uncleanable_offset`, which is the base offset of the
             segment that holds the first of these:
               - the active segment
               - what is not committed, or belongs to a transaction that is not decided
               - what is younger than `min.compaction.lag.ms`

The dirty ratio is the cleanable bytes over these and the clean ones. A log is cleaned when its ratio is
above `min.cleanable.dirty.ratio`, or when something in it waited longer than `max.compaction.lag.ms`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mainstem.config.topic_options import TopicConfig
from mainstem.log.segment import Segment


@dataclass(frozen=True, slots=True)
class Cleanable:
    segments: Sequence[Segment]  # all of the log at that moment
    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    is_overdue: bool  # something waited longer than it may

    @property
    def dirty_ratio(self) -> float:
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    def is_due(self, config: TopicConfig) -> bool:
        if not self.cleanable_bytes:
            return False
        return self.is_overdue or self.dirty_ratio > config.min_cleanable_dirty_ratio


def measure(
    segments: Sequence[Segment],
    config: TopicConfig,
    *,
    first_dirty_offset: int,
    log_start_offset: int,
    limit_offset: int,
    now_ms: int,
) -> Cleanable:
    """`limit_offset`: nothing from here on is committed and decided. May read a file's last index entries."""
    closed, active = segments[:-1], segments[-1]
    if not log_start_offset <= first_dirty_offset <= active.base_offset:
        first_dirty_offset = log_start_offset  # retention went further, or the log was cut back
    ends = [segment.base_offset for segment in segments[1:]]  # of the closed ones
    clean_bytes = cleanable_bytes = 0
    uncleanable_offset = segments[0].base_offset
    is_overdue = False
    for segment, end_offset in zip(closed, ends, strict=True):
        if end_offset > limit_offset:
            break
        if end_offset <= first_dirty_offset:
            clean_bytes += segment.size_bytes
        else:
            if (
                config.min_compaction_lag_ms > 0
                and segment.max_timestamp > now_ms - config.min_compaction_lag_ms
            ):
                break
            if config.max_compaction_lag_ms < now_ms:  # else nothing can be that old
                is_overdue |= 0 <= segment.roll_timestamp < now_ms - config.max_compaction_lag_ms
            cleanable_bytes += segment.size_bytes
        uncleanable_offset = end_offset
    return Cleanable(
        segments,
        first_dirty_offset,
        max(uncleanable_offset, first_dirty_offset),
        clean_bytes,
        cleanable_bytes,
        is_overdue,
    )
