"""The kinds of value that an option can have, as text and as Python objects.

Text comes from a file, the environment, a flag or a client's request. Sizes and durations may carry a
unit ("1GiB", "7d", "1h30m"); a plain number is in the unit of the option itself.
"""

from __future__ import annotations

import enum
import re
from typing import NamedTuple

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1


class Kind(enum.Enum):
    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    DOUBLE = "double"
    STRING = "string"
    LIST = "list"
    SET = "set"
    HOST_PORT = "host:port"


class Unit(enum.Enum):
    BYTES = "bytes"
    MILLISECONDS = "ms"
    SECONDS = "s"
    MINUTES = "minutes"
    HOURS = "hours"


class HostPort(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


Value = bool | int | float | str | tuple[str, ...] | frozenset[str] | HostPort | None

_SIZES = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_DURATIONS_MS = {
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}
_UNIT_MS = {Unit.MILLISECONDS: 1, Unit.SECONDS: 1000, Unit.MINUTES: 60_000, Unit.HOURS: 3_600_000}
_PLAIN_INTEGER = re.compile(r"[+-]?[0-9]{1,20}\Z")
_SIZE = re.compile(r"([0-9]{1,19}(?:\.[0-9]{1,9})?) ?([A-Za-z]{1,3})\Z")
_DURATION = re.compile(r"(?:[0-9]{1,19} ?(?:ms|s|min|m|h|d|w) ?)+\Z")
_DURATION_PART = re.compile(r"([0-9]+) ?(ms|s|min|m|h|d|w)")
_HOST_PORT = re.compile(r"(?:\[([0-9A-Fa-f:.%\w]+)\]|([^\s:\[\]/,]*)):([0-9]{1,5})\Z")


def parse_value(text: str, kind: Kind, unit: Unit | None) -> Value:
    """Raises ValueError with what is wrong with the text, as the end of a sentence "it ..."."""
    text = text.strip()
    if kind in (Kind.INT, Kind.LONG):
        return _parse_integer(text, kind, unit)
    if kind is Kind.BOOLEAN:
        lowered = text.lower()
        if lowered not in ("true", "false"):
            raise ValueError("is neither true nor false")
        return lowered == "true"
    if kind is Kind.DOUBLE:
        return _parse_double(text)
    if kind in (Kind.LIST, Kind.SET):
        return _parse_list(text, kind)
    if kind is Kind.HOST_PORT:
        return parse_host_port(text)
    return text


def _parse_integer(text: str, kind: Kind, unit: Unit | None) -> int:
    if _PLAIN_INTEGER.match(text):
        number = int(text)
    elif unit is Unit.BYTES:
        number = _parse_size(text)
    elif unit is not None:
        number = _parse_duration(text, unit)
    else:
        raise ValueError("is not a whole number")
    limit = INT_MAX if kind is Kind.INT else LONG_MAX
    if not -limit - 1 <= number <= limit:
        raise ValueError(f"does not fit into {32 if kind is Kind.INT else 64} bits")
    return number


def _parse_size(text: str) -> int:
    match = _SIZE.match(text)
    factor = _SIZES.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise ValueError(
            "is not a size: write bytes as a number, or with a unit such as 512KiB, 64MiB or 1GiB"
        )
    number: str = match[1]
    whole, _, fraction = number.partition(".")
    size, rest = divmod(int(whole + fraction) * factor, int(10 ** len(fraction)))
    if rest:
        raise ValueError("is not a whole number of bytes")
    return size


def _parse_duration(text: str, unit: Unit) -> int:
    if not _DURATION.match(text):
        raise ValueError(
            f"is not a duration: write a number ({unit.value}), or with a unit: 500ms, 30s, 15m, 12h, 7d"
        )
    total_ms = sum(int(count) * _DURATIONS_MS[name] for count, name in _DURATION_PART.findall(text))
    number, rest = divmod(total_ms, _UNIT_MS[unit])
    if rest:
        raise ValueError(f"is not a whole number of {unit.value}")
    return number


def _parse_double(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError("is not a number") from None
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError("is not a finite number")
    return number


def _parse_list(text: str, kind: Kind) -> tuple[str, ...] | frozenset[str]:
    items = tuple(item.strip() for item in text.split(",")) if text else ()
    if "" in items:
        raise ValueError("has an empty entry")
    if kind is Kind.SET:
        return frozenset(items)
    if len(set(items)) != len(items):
        raise ValueError("names an entry twice")
    return items


def parse_host_port(text: str) -> HostPort:
    match = _HOST_PORT.match(text.strip())
    if match is None:
        raise ValueError("is not HOST:PORT (an IPv6 address goes in brackets)")
    port = int(match[3])
    if port > 65535:
        raise ValueError("has a port above 65535")
    return HostPort(match[1] or match[2], port)


def format_value(value: Value) -> str | None:
    """The text that Kafka's tools would show, and that parses back to the same value."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, HostPort):
        return str(value)
    if isinstance(value, frozenset):
        return ",".join(sorted(value))
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value)
