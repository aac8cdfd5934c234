"""The effective configuration of a topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainstem.config.broker import BrokerConfig
from mainstem.config.broker_options import BROKER_OPTIONS
from mainstem.config.errors import ConfigError
from mainstem.config.option import Option
from mainstem.config.suggest import unknown_option
from mainstem.config.topic_options import TOPIC_OPTIONS, TopicConfig
from mainstem.config.value import LONG_MAX, Value

__all__ = [
    "DEFAULT_TOPIC_CONFIG",
    "TopicConfig",
    "check_topic_override",
    "check_topic_overrides",
    "resolve_topic_config",
]

DEFAULT_TOPIC_CONFIG = TopicConfig()


def check_topic_override(name: str, value: str) -> str:
    """The value in its plain form ("7d" becomes "604800000"). Raises ConfigError where it is not legal."""
    return _topic_option(name, value).plain_text(value) or ""


def check_topic_overrides(overrides: Mapping[str, str], broker: BrokerConfig) -> dict[str, str]:
    """All settings of a topic in plain form, checked one by one and together."""
    checked = {name: check_topic_override(name, value) for name, value in overrides.items()}
    resolve_topic_config(checked, broker)
    return checked


def resolve_topic_config(overrides: Mapping[str, str], broker: BrokerConfig) -> TopicConfig:
    """The topic's own settings over the broker's defaults. Raises ConfigError where they clash."""
    values: dict[str, Any] = {}
    for option in TOPIC_OPTIONS.values():
        if option.synonyms and (inherited := inherited_value(option, broker)) is not None:
            values[option.field_name] = inherited
    for name, text in overrides.items():
        option = _topic_option(name, text)
        values[option.field_name] = option.parse(text)
    config = TopicConfig(**values)
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise ConfigError(
            "min.compaction.lag.ms",
            str(config.min_compaction_lag_ms),
            f"is above max.compaction.lag.ms ({config.max_compaction_lag_ms})",
            "lower the one or raise the other",
        )
    return config


def inherited_value(option: Option, broker: BrokerConfig) -> Value:
    """What the broker's options say for a topic that says nothing; None where they say nothing either."""
    for synonym in option.synonyms:
        value: Value = getattr(broker, BROKER_OPTIONS[synonym.name].field_name)
        if value is None:
            continue
        if synonym.factor != 1 and isinstance(value, int) and value > 0:
            return min(value * synonym.factor, LONG_MAX)
        return value
    return None


def _topic_option(name: str, value: str) -> Option:
    option = TOPIC_OPTIONS.get(name)
    if option is None:
        raise unknown_option(name, value, TOPIC_OPTIONS)
    return option
