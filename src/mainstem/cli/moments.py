"""Points in time and in a log, as people write them and read them."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Final, NamedTuple

import click

from mainstem.config.value import Kind, Unit, parse_value

# A whole number this large is milliseconds since 1970 (from 1973 on) and not an offset.
_SMALLEST_TIMESTAMP_MS: Final = 100_000_000_000


class Start(NamedTuple):
    """Where to begin to read: `kind` is earliest, latest, offset, before-end or time."""

    kind: str
    value: int = 0


class StartType(click.ParamType[Start]):
    name = "where"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Start:  # noqa: ARG002
        return value if isinstance(value, Start) else parse_start(str(value))


class MomentType(click.ParamType[int]):
    """Milliseconds since 1970 from any way to write a time."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ARG002
        return value if isinstance(value, int) else parse_time_ms(str(value))


def parse_start(text: str) -> Start:
    """earliest, latest, an offset, -N for the last N records, or a time; `offset:` and `time:` insist."""
    word = text.strip().lower()
    if word in ("earliest", "latest"):
        return Start(word)
    kind, colon, rest = word.partition(":")
    if colon and kind in ("offset", "time"):
        if kind == "time":
            return Start("time", parse_time_ms(text.strip()[5:]))
        if rest.isdecimal():
            return Start("offset", int(rest))
    if word.isdecimal():
        number = int(word)
        return Start("time" if number >= _SMALLEST_TIMESTAMP_MS else "offset", number)
    if word.startswith("-") and word[1:].isdecimal():
        return Start("before-end", int(word[1:]))
    return Start("time", parse_time_ms(text))


def parse_time_ms(text: str) -> int:
    """ISO 8601, in UTC unless it says otherwise; milliseconds since 1970; or how long ago."""
    stripped = text.strip()
    if stripped.isdecimal() and len(stripped) > 8:
        return int(stripped)
    ago_ms = _duration_ms(stripped.removesuffix("ago").rstrip())
    if ago_ms is not None:
        return time.time_ns() // 1_000_000 - ago_ms
    try:
        moment = datetime.fromisoformat(stripped)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is no point in time: write 2026-11-19T08:30, 2026-11-19T08:30:00+01:00, "
            "milliseconds since 1970, or how long ago: 90s, 15m, 2h, 7d"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def _duration_ms(text: str) -> int | None:
    if text.isdecimal():
        return None  # a year, perhaps
    try:
        duration = parse_value(text, Kind.LONG, Unit.MILLISECONDS)
    except ValueError:
        return None
    return duration if isinstance(duration, int) and duration >= 0 else None


def time_text(timestamp_ms: int) -> str:
    """ISO 8601 in UTC with milliseconds; the bare number where no calendar reaches."""
    if timestamp_ms < 0:
        return "-" if timestamp_ms == -1 else str(timestamp_ms)
    try:
        moment = datetime.fromtimestamp(timestamp_ms // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{timestamp_ms % 1000:03d}Z"
