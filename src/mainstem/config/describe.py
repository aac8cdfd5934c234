"""Options as DescribeConfigs shows them: the effective value, where it comes from, and what lies beneath."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from mainstem.config.broker import BrokerConfig
from mainstem.config.broker_options import BROKER_OPTIONS
from mainstem.config.option import Option
from mainstem.config.source import Source
from mainstem.config.topic import resolve_topic_config
from mainstem.config.topic_options import TOPIC_OPTIONS
from mainstem.config.value import Kind, format_value


class WireType(enum.IntEnum):
    """The type codes of DescribeConfigs."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigSynonym(NamedTuple):
    name: str
    value: str | None  # None where it is unset or must not be shown
    source: Source


class ConfigEntry(NamedTuple):
    name: str
    value: str | None  # None where it is unset or must not be shown
    source: Source
    is_sensitive: bool
    read_only: bool  # cannot be changed at run time
    type: WireType
    doc: str
    synonyms: tuple[ConfigSynonym, ...]  # the strongest first, what is in force being the first


_WIRE_TYPES = {
    Kind.BOOLEAN: WireType.BOOLEAN,
    Kind.INT: WireType.INT,
    Kind.LONG: WireType.LONG,
    Kind.DOUBLE: WireType.DOUBLE,
    Kind.STRING: WireType.STRING,
    Kind.LIST: WireType.LIST,
    Kind.SET: WireType.LIST,
    Kind.HOST_PORT: WireType.STRING,
}


def describe_topic(
    overrides: Mapping[str, str], broker: BrokerConfig, names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """The options of a topic that has these settings; `names` picks some, unknown ones are left out."""
    config = resolve_topic_config(overrides, broker)
    entries = []
    for option in _chosen(TOPIC_OPTIONS, names):
        synonyms = []
        value = format_value(getattr(config, option.field_name))
        if option.name in overrides:
            value = option.plain_text(overrides[option.name])
            synonyms.append(ConfigSynonym(option.name, _shown(option, value), Source.DYNAMIC_TOPIC))
        synonyms.extend(_inherited(option, broker))
        entries.append(_entry(option, value, synonyms, False))
    return entries


def describe_broker(config: BrokerConfig, names: Collection[str] | None = None) -> list[ConfigEntry]:
    """The options of the broker; `names` picks some, unknown ones are left out."""
    return [
        _entry(
            option,
            format_value(getattr(config, option.field_name)),
            list(_set_on_broker(option, config)),
            not option.is_dynamic,
        )
        for option in _chosen(BROKER_OPTIONS, names)
    ]


def describe_cluster_defaults(
    settings: Mapping[str, str], names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """What was set at run time for all brokers; options that were not are left out."""
    entries = []
    for option in _chosen(BROKER_OPTIONS, names):
        if option.name in settings:
            value = option.plain_text(settings[option.name])
            synonym = ConfigSynonym(option.name, _shown(option, value), Source.DYNAMIC_DEFAULT_BROKER)
            entries.append(_entry(option, value, [synonym], not option.is_dynamic))
    return entries


def _chosen(options: Mapping[str, Option], names: Collection[str] | None) -> Iterator[Option]:
    if names is None:
        yield from options.values()
    else:
        yield from (options[name] for name in dict.fromkeys(names) if name in options)


def _inherited(option: Option, broker: BrokerConfig) -> list[ConfigSynonym]:
    """What a topic option would be without the topic's own setting, by strength of name, then of source."""
    found = [
        setting
        for synonym in option.synonyms
        for setting in _set_on_broker(BROKER_OPTIONS[synonym.name], broker)
        if setting.value is not None
    ]
    return found or [ConfigSynonym(option.name, _shown(option, option.default_text), Source.DEFAULT)]


def _set_on_broker(option: Option, broker: BrokerConfig) -> Iterator[ConfigSynonym]:
    for source, text in broker.settings_of(option):
        yield ConfigSynonym(option.name, _shown(option, text), source)


def _shown(option: Option, text: str | None) -> str | None:
    return None if option.is_sensitive else text


def _entry(option: Option, value: str | None, synonyms: list[ConfigSynonym], read_only: bool) -> ConfigEntry:
    return ConfigEntry(
        name=option.name,
        value=_shown(option, value),
        source=synonyms[0].source,
        is_sensitive=option.is_sensitive,
        read_only=read_only,
        type=WireType.PASSWORD if option.is_sensitive else _WIRE_TYPES[option.kind],
        doc=option.doc,
        synonyms=tuple(synonyms),
    )
