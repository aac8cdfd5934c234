"""When a log begins a new segment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mainstem.log.append_piece import RollLimits
from mainstem.log.segment import Segment
from mainstem.model.crc import crc32c
from mainstem.model.ids import TopicPartition

if TYPE_CHECKING:
    from mainstem.config.topic_options import TopicConfig

_NEVER: Final = 2**63 - 1
_OFFSET_ENTRY_BYTES: Final = 8
_TIME_ENTRY_BYTES: Final = 12


def roll_limits(segment: Segment, config: TopicConfig, roll_after_ms: int) -> RollLimits:
    if segment.size_bytes:
        since = segment.roll_timestamp
        roll_timestamp = since + roll_after_ms if since >= 0 else _NEVER
    else:
        roll_timestamp = roll_after_ms
    entries_left = min(
        config.segment_index_bytes // _OFFSET_ENTRY_BYTES - segment.offset_index.entry_count,
        config.segment_index_bytes // _TIME_ENTRY_BYTES - 1 - segment.time_index.entry_count,
    )
    return RollLimits(config.segment_bytes, roll_timestamp, config.index_interval_bytes, entries_left)


def jittered_segment_ms(config: TopicConfig, topic_partition: TopicPartition, base_offset: int) -> int:
    """`segment.ms` less a share of `segment.jitter.ms` that is this segment's for good."""
    segment_ms = config.segment_ms
    if "compact" in config.cleanup_policy:  # what stays in the active segment is not compacted
        segment_ms = min(segment_ms, config.max_compaction_lag_ms)
    jitter_ms = min(config.segment_jitter_ms, segment_ms)
    if jitter_ms <= 0:
        return segment_ms
    share = crc32c(f"{topic_partition}/{base_offset}".encode())
    return segment_ms - share % (jitter_ms + 1)
