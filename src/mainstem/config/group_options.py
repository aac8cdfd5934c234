"""The broker's options about consumer groups and their offsets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from mainstem.config.option import Scope, declare
from mainstem.config.value import INT_MAX, Kind, Unit

_broker = partial(declare, scope=Scope.BROKER)
_MS = Unit.MILLISECONDS


@dataclass(frozen=True)
class GroupOptions:
    """How groups form, and how long their offsets are kept."""

    offsets_topic_num_partitions: int = _broker(
        "offsets.topic.num.partitions",
        Kind.INT,
        50,
        "How many partitions __consumer_offsets gets when it is made. It must not change afterwards.",
        minimum=1,
        maximum=100_000,
    )
    offsets_topic_segment_bytes: int = _broker(
        "offsets.topic.segment.bytes",
        Kind.INT,
        104_857_600,
        "The segment size of __consumer_offsets; small segments make for a quick load.",
        unit=Unit.BYTES,
        minimum=1_048_576,
    )
    offsets_topic_replication_factor: int = _broker(
        "offsets.topic.replication.factor",
        Kind.INT,
        1,
        "How many replicas __consumer_offsets gets when it is made (Kafka: 3, which a single node cannot "
        "give).",
        minimum=1,
        maximum=32_767,
    )
    offsets_retention_minutes: int = _broker(
        "offsets.retention.minutes",
        Kind.INT,
        10_080,
        "How long the offsets of a group without members are kept.",
        unit=Unit.MINUTES,
        minimum=1,
    )
    offsets_retention_check_interval_ms: int = _broker(
        "offsets.retention.check.interval.ms",
        Kind.LONG,
        600_000,
        "How often expired offsets are looked for.",
        unit=_MS,
        minimum=1,
    )
    offset_metadata_max_bytes: int = _broker(
        "offset.metadata.max.bytes",
        Kind.INT,
        4096,
        "The longest note that a client may leave with a committed offset.",
        unit=Unit.BYTES,
        minimum=0,
        maximum=32_767,
    )
    group_min_session_timeout_ms: int = _broker(
        "group.min.session.timeout.ms",
        Kind.INT,
        6000,
        "The shortest session time-out that a member may ask for.",
        unit=_MS,
        minimum=1,
    )
    group_max_session_timeout_ms: int = _broker(
        "group.max.session.timeout.ms",
        Kind.INT,
        1_800_000,
        "The longest session time-out that a member may ask for.",
        unit=_MS,
        minimum=1,
    )
    group_initial_rebalance_delay_ms: int = _broker(
        "group.initial.rebalance.delay.ms",
        Kind.INT,
        3000,
        "How long an empty group waits for more members before its first assignment.",
        unit=_MS,
        minimum=0,
    )
    group_max_size: int = _broker(
        "group.max.size",
        Kind.INT,
        INT_MAX,
        "The most members of a group.",
        minimum=1,
    )
