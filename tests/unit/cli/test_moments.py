"""Points in time and in a log, as people write them."""

import time

import click
import pytest

from mainstem.cli.moments import Start, parse_start, parse_time_ms, time_text


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("earliest", Start("earliest")),
        (" Latest ", Start("latest")),
        ("0", Start("offset", 0)),
        ("123456", Start("offset", 123456)),
        ("1795071950923", Start("time", 1795071950923)),
        ("offset:1795071950923", Start("offset", 1795071950923)),
        ("time:200000000", Start("time", 200000000)),
        ("-10", Start("before-end", 10)),
        ("2026-11-19T08:30", Start("time", 1795077000000)),
        ("2026-11-19T08:30Z", Start("time", 1795077000000)),
        ("2026-11-19T09:30:00.250+01:00", Start("time", 1795077000250)),
        ("time:2026-11-19", Start("time", 1795046400000)),
    ],
)
def test_where_to_begin(text: str, start: Start) -> None:
    assert parse_start(text) == start


@pytest.mark.parametrize(
    ("text", "ago_ms"),
    [("15m", 900_000), ("2h ago", 7_200_000), ("1h30m", 5_400_000), ("500ms", 500), ("7d", 604_800_000)],
)
def test_how_long_ago(text: str, ago_ms: int) -> None:
    assert abs(time.time() * 1000 - ago_ms - parse_time_ms(text)) < 2000
    assert parse_start(text).kind == "time"


@pytest.mark.parametrize("text", ["yesterday", "", "offset:-1", "2026-13-01", "--5", "15 lightyears"])
def test_what_is_none_of_these_is_refused_with_examples(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is no point in time: write 2026-11-19T08:30"):
        parse_start(text)


@pytest.mark.parametrize(
    ("timestamp_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1795077000250, "2026-11-19T08:30:00.250Z"),
        (-1, "-"),
        (-5, "-5"),
        (10**18, "1000000000000000000"),
    ],
)
def test_a_time_as_text(timestamp_ms: int, text: str) -> None:
    assert time_text(timestamp_ms) == text
