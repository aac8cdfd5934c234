"""Records to lines and back: nothing is lost on the way, and what is no record is refused."""

import json
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainstem.cli.record_text import (
    InvalidLine,
    json_line,
    parse_json_line,
    plain_line,
    template_line,
    unescape,
)
from mainstem.client.reader import FetchedRecord
from mainstem.model.ids import TopicPartition

PLACE = TopicPartition("orders", 3)
optional_bytes = st.none() | st.binary(max_size=20)


def fetched(
    key: bytes | None = b"k", value: bytes | None = b"v", headers: tuple[tuple[bytes, bytes | None], ...] = ()
) -> FetchedRecord:
    return FetchedRecord(PLACE, 17, 1795077000250, key, value, headers)


@given(optional_bytes, optional_bytes, st.lists(st.tuples(st.binary(max_size=8), optional_bytes), max_size=3))
def test_a_json_line_holds_everything(
    key: bytes | None, value: bytes | None, headers: list[tuple[bytes, bytes | None]]
) -> None:
    line = json_line(fetched(key, value, tuple(headers)))
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    record, partition = parse_json_line(line, 0)
    assert (record.key, record.value, list(record.headers)) == (key, value, headers)
    assert (record.timestamp_ms, partition) == (1795077000250, 3)


def test_what_a_json_line_looks_like() -> None:
    line = json_line(fetched("schlüssel".encode(), b"\xff\x00", ((b"h", None), (b"h", b"2"))))
    assert json.loads(line) == {
        "topic": "orders",
        "partition": 3,
        "offset": 17,
        "timestamp": 1795077000250,
        "key": "schlüssel",
        "value": {"base64": "/wA="},
        "headers": [["h", None], ["h", "2"]],
    }


@pytest.mark.parametrize(
    ("document", "value"),
    [
        ({"value": {"amount": 5}}, b'{"amount":5}'),
        ({"value": 7}, b"7"),
        ({"value": [1, "a"]}, b'[1,"a"]'),
        ({"value": True}, b"true"),
        ({"value": None}, None),
        ({}, None),
    ],
)
def test_any_json_is_a_value(document: dict[str, Any], value: bytes | None) -> None:
    record, partition = parse_json_line(json.dumps(document).encode(), 99)
    assert (record.key, record.value, record.timestamp_ms, partition) == (None, value, 99, None)


def test_headers_may_be_an_object() -> None:
    record, _ = parse_json_line(b'{"headers": {"a": "1", "b": null}}', 0)
    assert list(record.headers) == [(b"a", b"1"), (b"b", None)]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"", "no JSON"),
        (b"[1]", "no JSON object"),
        (b'{"valeu": 1}', "unknown field 'valeu' \\(known: headers, key"),
        (b'{"partition": -1}', "partition -1 is no number of a partition"),
        (b'{"partition": true}', "partition True"),
        (b'{"timestamp": "today"}', "timestamp 'today' is not in milliseconds"),
        (b'{"value": {"base64": "?"}}', "base64 of the value is malformed"),
        (b'{"headers": "a"}', "headers are a list"),
        (b'{"headers": [["a"]]}', "headers are a list"),
        (b'{"value": "\xff"}', "no JSON"),
    ],
)
def test_what_is_no_record_says_why(line: bytes, told: str) -> None:
    with pytest.raises(InvalidLine, match=told):
        parse_json_line(line, 0)


def test_plain_lines_are_the_bytes_themselves() -> None:
    record = fetched(b"\xff", None, ((b"a", b"1"), (b"b", None)))
    assert plain_line(["value"], b"\t")(fetched(value=b"\xfe\x00")) == b"\xfe\x00\n"
    assert plain_line(["value"], b"\t")(record) == b"\n"
    fields = ["topic", "partition", "offset", "timestamp", "timestamp_ms", "key", "value", "headers"]
    assert plain_line(fields, b"|")(record) == (
        b"orders|3|17|2026-11-19T08:30:00.250Z|1795077000250|\xff||a=1,b=\n"
    )


def test_a_template() -> None:
    assert template_line(r"{partition}@{offset}\t{{{key}}}\n")(fetched()) == b"3@17\t{k}\n"
    for wrong in ("{nothing}", "{", "{}"):
        with pytest.raises(click.BadParameter):
            template_line(wrong)


def test_escapes() -> None:
    assert unescape(r"\t|\n|\r|\0|\\t|\x|") == "\t|\n|\r|\0|\\t|\\x|"
    assert unescape("\\") == "\\"
