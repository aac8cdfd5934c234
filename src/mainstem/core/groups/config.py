"""The options of the group coordinator, already resolved."""

from __future__ import annotations

from dataclasses import dataclass

from mainstem.config.broker import BrokerConfig

MINUTE_MS = 60 * 1000
DAY_MS = 24 * 60 * MINUTE_MS


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """Defaults are Kafka's; the option that each comes from is named beside it."""

    min_session_timeout_ms: int = 6_000  # group.min.session.timeout.ms
    max_session_timeout_ms: int = 1_800_000  # group.max.session.timeout.ms
    initial_rebalance_delay_ms: int = 3_000  # group.initial.rebalance.delay.ms
    max_size: int = 0x7FFFFFFF  # group.max.size
    offset_metadata_max_bytes: int = 4_096  # offset.metadata.max.bytes
    offsets_retention_ms: int = 7 * DAY_MS  # offsets.retention.minutes
    retention_check_interval_ms: int = 600_000  # offsets.retention.check.interval.ms
    new_member_join_timeout_ms: int = 300_000  # not an option: for clients older than member-id-required

    @classmethod
    def of(cls, broker: BrokerConfig) -> GroupConfig:
        return cls(
            min_session_timeout_ms=broker.group_min_session_timeout_ms,
            max_session_timeout_ms=broker.group_max_session_timeout_ms,
            initial_rebalance_delay_ms=broker.group_initial_rebalance_delay_ms,
            max_size=broker.group_max_size,
            offset_metadata_max_bytes=broker.offset_metadata_max_bytes,
            offsets_retention_ms=broker.offsets_retention_minutes * MINUTE_MS,
            retention_check_interval_ms=broker.offsets_retention_check_interval_ms,
        )
