"""All options together, as the command line and the documentation present them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from mainstem.config.broker_options import BROKER_OPTIONS
from mainstem.config.option import Option
from mainstem.config.suggest import unknown_option
from mainstem.config.topic_options import TOPIC_OPTIONS
from mainstem.config.value import INT_MAX, LONG_MAX, Kind, Unit

_STEPS: Mapping[Unit, tuple[tuple[str, int], ...]] = MappingProxyType(
    {
        Unit.BYTES: (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)),
        Unit.MILLISECONDS: (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)),
        Unit.MINUTES: (("d", 1440), ("h", 60)),
        Unit.HOURS: (("d", 24),),
    }
)

OPTIONS: Mapping[str, Option] = MappingProxyType({**BROKER_OPTIONS, **TOPIC_OPTIONS})


def find_option(name: str) -> Option:
    """By its name, flag or environment variable. Raises ConfigError with what may have been meant."""
    name = name.strip()
    for option in OPTIONS.values():
        if name in (option.name, option.flag, option.environment_variable):
            return option
    raise unknown_option(name, None, OPTIONS)


def type_in_words(option: Option) -> str:
    if option.choices:
        return "list" if option.kind in (Kind.LIST, Kind.SET) else "enum"
    if option.kind is Kind.SET:
        return "list"
    if option.kind is Kind.HOST_PORT:
        return "address"
    if option.unit is Unit.BYTES:
        return "size (bytes)"
    if option.unit is not None:
        return f"duration ({option.unit.value})"
    return str(option.kind.value)


def default_in_words(option: Option) -> str:
    """The default with a reading aid where the number alone says little."""
    text = option.default_text
    if not text:
        return "not set" if option.is_nullable else "empty"
    if not isinstance(option.default, int) or isinstance(option.default, bool):
        return text
    if option.default in (INT_MAX, LONG_MAX):
        return f"{text} (no limit)"
    aid = _readable(option.default, option.unit)
    return f"{text} ({aid})" if aid else text


def _readable(number: int, unit: Unit | None) -> str:
    for suffix, size in _STEPS.get(unit, ()) if unit else ():
        if number >= size and number % size == 0:
            return f"{number // size}{suffix}"
    return ""


def topic_options_defaulting_to(option: Option) -> list[str]:
    """The topic options that take this broker option as their default."""
    return [
        topic_option.name
        for topic_option in TOPIC_OPTIONS.values()
        if any(synonym.name == option.name for synonym in topic_option.synonyms)
    ]


def summary_of(option: Option) -> dict[str, Any]:
    return {
        "name": option.name,
        "doc": option.doc,
        "type": type_in_words(option),
        "default": option.default_text,
        "default_in_words": default_in_words(option),
        "legal": option.legal or None,
        "scope": option.scope.value,
        "changes_at_run_time": option.is_dynamic,
        "sensitive": option.is_sensitive,
        "per_listener": option.is_per_listener,
        "flag": option.flag,
        "environment": option.environment_variable,
        "broker_default_from": [synonym.name for synonym in option.synonyms if synonym.name != option.name],
        "default_of_topic_option": [
            name for name in topic_options_defaulting_to(option) if name != option.name
        ],
    }


def toml_line(option: Option) -> str | None:
    """How `mainstem.toml` says the default; None where the file cannot set the option."""
    if option.environment_variable is None:
        return None
    if isinstance(option.default, bool | int | float):
        return f"{option.name} = {option.default_text}"
    return f'{option.name} = "{option.default_text or ""}"'
