"""Values as text: units, bounds of the machine types, and the way back."""

import pytest

from mainstem.config.value import HostPort, Kind, Unit, format_value, parse_value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1048576", 1 << 20),
        (" 7 ", 7),
        ("-1", -1),
        ("1GiB", 1 << 30),
        ("1.5 GiB", 3 << 29),
        ("64mib", 64 << 20),
        ("10kB", 10_000),
        ("12B", 12),
    ],
)
def test_a_size_is_a_number_or_has_a_unit(text: str, expected: int) -> None:
    assert parse_value(text, Kind.LONG, Unit.BYTES) == expected


@pytest.mark.parametrize(
    "text", ["", "1G", "7d", "GiB", "1 GiB extra", "0.3B", "1_000", "0x10", "1e3", "-1KiB"]
)
def test_other_text_is_no_size(text: str) -> None:
    with pytest.raises(ValueError):
        parse_value(text, Kind.LONG, Unit.BYTES)


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("500ms", Unit.MILLISECONDS, 500),
        ("30s", Unit.MILLISECONDS, 30_000),
        ("1h30m", Unit.MILLISECONDS, 5_400_000),
        ("7d", Unit.MILLISECONDS, 604_800_000),
        ("2w", Unit.HOURS, 336),
        ("1d", Unit.MINUTES, 1440),
        ("90 min", Unit.MILLISECONDS, 5_400_000),
        ("90", Unit.MINUTES, 90),
    ],
)
def test_a_duration_comes_in_the_unit_of_its_option(text: str, unit: Unit, expected: int) -> None:
    assert parse_value(text, Kind.LONG, unit) == expected


@pytest.mark.parametrize(
    ("text", "unit"),
    [("30s", Unit.MINUTES), ("7 days", Unit.HOURS), ("1GiB", Unit.MILLISECONDS), ("1.5h", Unit.HOURS)],
)
def test_a_duration_that_does_not_fit_is_refused(text: str, unit: Unit) -> None:
    with pytest.raises(ValueError):
        parse_value(text, Kind.LONG, unit)


def test_numbers_stay_within_their_machine_type() -> None:
    assert parse_value("2147483647", Kind.INT, None) == 2**31 - 1
    assert parse_value("-9223372036854775808", Kind.LONG, None) == -(2**63)
    with pytest.raises(ValueError, match="32 bits"):
        parse_value("2GiB", Kind.INT, Unit.BYTES)
    with pytest.raises(ValueError, match="64 bits"):
        parse_value("9223372036854775808", Kind.LONG, None)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "half", ""])
def test_a_double_is_finite(text: str) -> None:
    with pytest.raises(ValueError):
        parse_value(text, Kind.DOUBLE, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:9092", HostPort("127.0.0.1", 9092)),
        ("[::1]:0", HostPort("::1", 0)),
        (":9092", HostPort("", 9092)),
        ("broker-1.example.com:65535", HostPort("broker-1.example.com", 65535)),
    ],
)
def test_an_address_survives_the_round_trip(text: str, expected: HostPort) -> None:
    assert parse_value(text, Kind.HOST_PORT, None) == expected
    assert format_value(expected) == text


@pytest.mark.parametrize(
    "text", ["localhost", "localhost:", "a:65536", "::1:9092", "http://a:1", "a b:1", "a:-1"]
)
def test_other_text_is_no_address(text: str) -> None:
    with pytest.raises(ValueError):
        parse_value(text, Kind.HOST_PORT, None)


def test_lists_and_sets() -> None:
    assert parse_value("b, a", Kind.LIST, None) == ("b", "a")
    assert parse_value("", Kind.LIST, None) == ()
    assert parse_value("delete,compact,delete", Kind.SET, None) == frozenset({"compact", "delete"})
    assert format_value(frozenset({"delete", "compact"})) == "compact,delete"
    with pytest.raises(ValueError, match="twice"):
        parse_value("a,a", Kind.LIST, None)
    with pytest.raises(ValueError, match="empty"):
        parse_value("a,,b", Kind.LIST, None)


def test_booleans() -> None:
    assert parse_value("TRUE", Kind.BOOLEAN, None) is True
    assert format_value(False) == "false"
    with pytest.raises(ValueError, match="neither"):
        parse_value("yes", Kind.BOOLEAN, None)
