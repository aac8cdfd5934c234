"""What an option is.

An option is declared exactly once, as a field of a frozen dataclass (see `topic_options.py` and
`broker_options.py`): the field gives code a typed attribute, the `Option` in the field's metadata
gives the loader, the command line, DescribeConfigs and the documentation everything else.
The field's name is the option's name with dots made underscores.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, NamedTuple

from mainstem.config.errors import ConfigError
from mainstem.config.value import Kind, Unit, Value, format_value, parse_value

ENVIRONMENT_PREFIX = "MAINSTEM_"


class Scope(enum.Enum):
    BROKER = "broker"
    TOPIC = "topic"
    BOTH = "both"


class Synonym(NamedTuple):
    """A broker option that gives a topic option its default, in another unit perhaps."""

    name: str
    factor: int = (
        1  # the broker's value times this is the topic's; negative values mean "no limit" as they are
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    name: str
    kind: Kind
    default: Value
    doc: str
    scope: Scope
    unit: Unit | None = None
    minimum: float | None = None  # inclusive
    maximum: float | None = None  # inclusive
    also: tuple[int, ...] = ()  # values outside minimum..maximum that are legal too
    choices: tuple[str, ...] = ()
    is_nullable: bool = False  # the empty text means None
    is_dynamic: bool = False  # IncrementalAlterConfigs may change it at run time
    is_sensitive: bool = False  # never shown; without a flag, for flags are visible to every user
    is_per_listener: bool = False  # listener.name.NAME.OPTION sets it for one listener
    is_constant: bool = False  # reported, never set
    short_flag: str | None = None  # a flag shown by `mainstem start --help`
    synonyms: tuple[Synonym, ...] = ()  # of a topic option, the strongest first

    @property
    def field_name(self) -> str:
        return self.name.replace(".", "_")

    @property
    def environment_variable(self) -> str | None:
        if self.scope is Scope.TOPIC or self.is_constant:
            return None
        return ENVIRONMENT_PREFIX + self.field_name.upper()

    @property
    def flag(self) -> str | None:
        if self.scope is Scope.TOPIC or self.is_constant or self.is_sensitive:
            return None
        return self.short_flag or "--" + self.name.replace(".", "-")

    @property
    def default_text(self) -> str | None:
        return format_value(self.default)

    @property
    def legal(self) -> str:
        """The legal values in words."""
        if self.choices:
            joined = ", ".join(self.choices)
            return f"any of {joined}" if self.kind in (Kind.LIST, Kind.SET) else f"one of {joined}"
        if self.kind is Kind.BOOLEAN:
            return "true or false"
        if self.kind is Kind.HOST_PORT:
            return "HOST:PORT, or empty" if self.is_nullable else "HOST:PORT"
        parts = [str(value) for value in self.also]
        if self.minimum is not None and self.maximum is not None:
            parts.append(f"{self.minimum} to {self.maximum}")
        elif self.minimum is not None:
            parts.append(f"at least {self.minimum}")
        elif self.maximum is not None:
            parts.append(f"at most {self.maximum}")
        return " or ".join(parts)

    def parse(self, text: str, origin: str = "") -> Value:
        """The value that a text means; ConfigError where it means none that is legal."""
        if self.is_constant:
            raise ConfigError(self.name, text, "cannot be changed", "remove it", origin)
        if self.is_nullable and not text.strip():
            return None
        try:
            value = parse_value(text, self.kind, self.unit)
        except ValueError as error:
            raise self._refusal(text, str(error), origin) from None
        problem = self._problem_of(value)
        if problem:
            raise self._refusal(text, problem, origin)
        return value

    def plain_text(self, text: str) -> str | None:
        """A legal text in the one spelling that is stored and shown; a set keeps its order."""
        value = self.parse(text)
        if isinstance(value, frozenset):
            return ",".join(dict.fromkeys(item.strip() for item in text.split(",") if item.strip()))
        return format_value(value)

    def _refusal(self, text: str, problem: str, origin: str) -> ConfigError:
        shown = "(hidden)" if self.is_sensitive else text
        cure = f"legal: {self.legal}" if self.legal else f"see: mainstem config explain {self.name}"
        return ConfigError(self.name, shown, problem, cure, origin)

    def _problem_of(self, value: Value) -> str | None:
        if self.choices:
            entries = value if isinstance(value, frozenset | tuple) else (value,)
            strangers = sorted(str(entry) for entry in entries if entry not in self.choices)
            return f"{', '.join(map(repr, strangers))} is not known" if strangers else None
        if isinstance(value, int | float) and value not in self.also:
            if self.minimum is not None and value < self.minimum:
                return "is too small"
            if self.maximum is not None and value > self.maximum:
                return "is too large"
        return None


def declare(name: str, kind: Kind, default: Value, doc: str, *, scope: Scope, **more: Any) -> Any:
    """The dataclass field of an option."""
    return declare_option(Option(name=name, kind=kind, default=default, doc=doc, scope=scope, **more))


def declare_option(option: Option) -> Any:
    return field(default=option.default, metadata={"option": option}, repr=not option.is_sensitive)


def options_of(declaring: type) -> Mapping[str, Option]:
    """The options that a dataclass declares, by name, in order of declaration."""
    found: dict[str, Option] = {}
    for declared in fields(declaring):
        option = declared.metadata.get("option")
        if option is None:
            continue
        if option.field_name != declared.name or option.name in found:
            raise TypeError(f"{declaring.__name__}.{declared.name} declares {option.name}")
        found[option.name] = option
    return MappingProxyType(found)
