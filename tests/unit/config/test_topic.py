"""The effective options of a topic."""

import pytest

from mainstem.config.broker import BrokerConfig
from mainstem.config.errors import ConfigError
from mainstem.config.load import load_broker_config
from mainstem.config.topic import (
    DEFAULT_TOPIC_CONFIG,
    check_topic_override,
    check_topic_overrides,
    resolve_topic_config,
)

DEFAULT_BROKER = BrokerConfig.default()


def test_without_settings_the_defaults_hold() -> None:
    assert resolve_topic_config({}, DEFAULT_BROKER) == DEFAULT_TOPIC_CONFIG
    assert DEFAULT_TOPIC_CONFIG.retention_ms == 604_800_000
    assert DEFAULT_TOPIC_CONFIG.max_message_bytes == 1_048_588


@pytest.mark.parametrize(
    ("flags", "expected_ms"),
    [
        ({"log.retention.hours": "1"}, 3_600_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "5"}, 300_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "5", "log.retention.ms": "7"}, 7),
        ({"log.retention.hours": "1", "log.retention.minutes": "5", "log.retention.ms": ""}, 300_000),
        ({"log.retention.hours": "-1"}, -1),
        ({"log.retention.minutes": "-1"}, -1),
    ],
)
def test_the_finer_unit_wins_and_minus_one_means_for_ever(flags: dict[str, str], expected_ms: int) -> None:
    assert resolve_topic_config({}, load_broker_config(flags=flags)).retention_ms == expected_ms


def test_the_broker_gives_every_default_it_has_an_option_for() -> None:
    broker = load_broker_config(
        flags={
            "log.segment.bytes": "2MiB",
            "message.max.bytes": "5",
            "log.cleanup.policy": "compact",
            "log.roll.jitter.hours": "1",
            "compression.type": "zstd",
            "acks.after": "disk",
            "log.flush.interval.ms": "9",
        }
    )
    config = resolve_topic_config({}, broker)
    assert config.segment_bytes == 2 << 20
    assert config.max_message_bytes == 5
    assert config.cleanup_policy == {"compact"}
    assert config.segment_jitter_ms == 3_600_000
    assert (config.compression_type, config.acks_after, config.flush_ms) == ("zstd", "disk", 9)


def test_the_topic_wins_over_the_broker() -> None:
    broker = load_broker_config(flags={"log.retention.ms": "5"})
    assert resolve_topic_config({"retention.ms": "1d"}, broker).retention_ms == 86_400_000


def test_a_change_at_run_time_reaches_the_topics_and_replaces_the_one_before() -> None:
    config = DEFAULT_BROKER.with_dynamic(
        {"log.retention.ms": "5"}, cluster_defaults={"log.retention.ms": "6", "message.max.bytes": "7"}
    )
    assert resolve_topic_config({}, config).retention_ms == 5
    assert config.message_max_bytes == 7
    again = config.with_dynamic({"log.segment.bytes": "3MiB"})
    assert again.log_retention_ms is None
    assert again.log_segment_bytes == 3 << 20
    assert again.with_dynamic({}) == DEFAULT_BROKER


def test_only_some_options_change_at_run_time() -> None:
    with pytest.raises(ConfigError, match="run time"):
        DEFAULT_BROKER.with_dynamic({"num.partitions": "3"})
    with pytest.raises(ConfigError, match=r"did you mean log\.retention\.ms"):
        DEFAULT_BROKER.with_dynamic({"log.retention.mss": "3"})


def test_an_override_is_checked_and_brought_into_plain_form() -> None:
    assert check_topic_override("retention.ms", "7d") == "604800000"
    assert check_topic_override("cleanup.policy", "delete, compact") == "delete,compact"
    assert check_topic_override("cleanup.policy", "") == ""
    with pytest.raises(ConfigError, match="at least 1048576"):
        check_topic_override("segment.bytes", "1000")
    with pytest.raises(ConfigError, match="did you mean"):
        check_topic_override("retention", "1")
    with pytest.raises(ConfigError, match="no such option"):
        check_topic_override("log.retention.ms", "1")


def test_overrides_are_checked_together() -> None:
    assert check_topic_overrides({"segment.bytes": "1MiB"}, DEFAULT_BROKER) == {"segment.bytes": "1048576"}
    with pytest.raises(ConfigError, match=r"max\.compaction\.lag\.ms"):
        check_topic_overrides({"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "3"}, DEFAULT_BROKER)
