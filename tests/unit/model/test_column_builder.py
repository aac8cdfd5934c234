"""Both builders of columns, the compiled and the plain one, under one suite."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.support.columns import BUILDERS, Row, rows_of

from mainstem.model.columns import CREATE_TIME, LOG_APPEND_TIME, Builder
from mainstem.model.errors import MalformedRecords
from mainstem.model.records import encode_record
from mainstem.model.varint import encode_varint

BASE_MS = 1_700_000_000_000
ALL = (0, 2**62)


@pytest.fixture(params=list(BUILDERS))
def builder_type(request: pytest.FixtureRequest) -> type[Builder]:
    return BUILDERS[request.param]


def plain(records: Sequence[tuple]) -> bytes:
    return b"".join(encode_record(*record) for record in records)


def add(builder: Builder, records: Sequence[tuple], base: int = 0, window: tuple[int, int] = ALL) -> int:
    return builder.add(plain(records), len(records), base, BASE_MS, CREATE_TIME, *window)


def test_every_field_of_a_record_arrives_in_its_column(builder_type: type[Builder]) -> None:
    builder = builder_type(True)
    headers = [("trace", b"\x00\xff"), ("empty", b""), ("null", None), (b"\xff not text", b"x")]
    count = add(
        builder,
        [
            (0, 0, b"k", b"v" * 300, headers),
            (1, -5, None, b"", ()),
            (7, 2**40, b"", None, [("one", b"1")]),
        ],
        base=100,
    )
    assert count == 3
    assert rows_of(builder.take()) == [
        Row(
            100,
            BASE_MS,
            CREATE_TIME,
            b"k",
            b"v" * 300,
            ((b"trace", b"\x00\xff"), (b"empty", b""), (b"null", None), (b"\xff not text", b"x")),
        ),
        Row(101, BASE_MS - 5, CREATE_TIME, None, b"", None),
        Row(107, BASE_MS + 2**40, CREATE_TIME, b"", None, ((b"one", b"1"),)),
    ]


def test_headers_are_passed_over_when_nobody_asked_for_them(builder_type: type[Builder]) -> None:
    builder = builder_type(False)
    add(builder, [(0, 0, None, b"a", [("h", b"x")]), (1, 0, None, b"b", ())])
    columns = builder.take()
    assert columns.headers is None
    assert [row.value for row in rows_of(columns)] == [b"a", b"b"]


def test_append_time_is_the_time_of_every_record(builder_type: type[Builder]) -> None:
    builder = builder_type(False)
    data = plain([(0, 0, None, b"a"), (1, 99, None, b"b")])
    builder.add(data, 2, 0, 42, LOG_APPEND_TIME, *ALL)
    add(builder, [(0, 3, None, b"c")], base=2)
    assert [(row.timestamp_ms, row.timestamp_type) for row in rows_of(builder.take())] == [
        (42, LOG_APPEND_TIME),
        (42, LOG_APPEND_TIME),
        (BASE_MS + 3, CREATE_TIME),
    ]


def test_only_offsets_in_the_window_are_taken(builder_type: type[Builder]) -> None:
    builder = builder_type(True)
    records = [(delta, 0, b"%d" % delta, b"v", [("h", b"%d" % delta)]) for delta in range(10)]
    assert add(builder, records, base=50, window=(53, 57)) == 4
    rows = rows_of(builder.take())
    assert [row.offset for row in rows] == [53, 54, 55, 56]
    assert [row.headers for row in rows] == [((b"h", b"%d" % delta),) for delta in range(3, 7)]


def test_batches_follow_each_other_in_one_chunk(builder_type: type[Builder]) -> None:
    """The first null may come in any batch, long after bits were last needed."""
    builder = builder_type(True)
    expected: list[tuple[bytes | None, bytes | None]] = []
    for batch in range(40):
        pairs = [
            (
                None if (batch > 9 and (batch * 7 + row) % 5 == 0) else b"key %d" % row,
                None if (batch > 25 and row % 3 == 0) else b"value" * (row % 4),
            )
            for row in range(1 + batch % 13)
        ]
        add(builder, [(row, 0, *pair, ()) for row, pair in enumerate(pairs)], base=batch * 100)
        expected += pairs
    assert builder.row_count == len(expected)
    assert builder.data_bytes == sum(len(part) for pair in expected for part in pair if part)
    assert [(row.key, row.value) for row in rows_of(builder.take())] == expected


def test_what_was_taken_stays_as_it_is(builder_type: type[Builder]) -> None:
    builder = builder_type(True)
    add(builder, [(0, 0, None, b"first", [("a", b"b")])])
    first = builder.take()
    assert builder.row_count == builder.data_bytes == 0
    add(builder, [(0, 0, b"key", b"second", ()), (1, 0, b"key", None, ())])
    second = builder.take()
    assert [(row.key, row.value) for row in rows_of(first)] == [(None, b"first")]
    assert [(row.key, row.value) for row in rows_of(second)] == [(b"key", b"second"), (b"key", None)]
    assert rows_of(builder.take()) == []


DAMAGED = {
    "a count that lies": (plain([(0, 0, None, b"x")]), 2),
    "a count far too high": (b"\x00" * 10, 2**31 - 1),
    "a negative count": (plain([(0, 0, None, b"x")]), -1),
    "bytes after the last record": (plain([(0, 0, None, b"x")]) + b"\x00", 1),
    "bytes and no record": (b"\x00", 0),
    "a record cut off": (plain([(0, 0, None, b"x" * 100)])[:-5], 1),
    "a record length beyond the end": (encode_varint(500) + b"\x00" * 20, 1),
    "a negative record length": (encode_varint(-2) + b"\x00" * 20, 1),
    "a record too short": (encode_varint(5) + b"\x00" * 20, 1),
    "a key beyond its record": (encode_varint(8) + b"\x00\x00\x00" + encode_varint(50) + b"\x00" * 60, 1),
    "a value beyond its record": (
        encode_varint(8) + b"\x00\x00\x00\x01" + encode_varint(60) + b"\x00" * 90,
        1,
    ),
    "fields shorter than their record": (encode_varint(9) + b"\x00\x00\x00\x01\x01\x00" + b"\x00" * 3, 1),
    "a number without an end": (encode_varint(12) + b"\x00" + b"\x80" * 11, 1),
    "a time of more than 64 bits": (encode_varint(20) + b"\x00" + b"\xff" * 9 + b"\x03" + b"\x00" * 9, 1),
    "more headers than bytes": (encode_varint(6) + b"\x00\x00\x00\x01\x01" + encode_varint(40), 1),
    "a negative header count": (encode_varint(6) + b"\x00\x00\x00\x01\x01" + encode_varint(-1), 1),
    "a header without a key": (encode_varint(8) + b"\x00\x00\x00\x01\x01\x02\x01\x01", 1),
    "a header key beyond its record": (encode_varint(8) + b"\x00\x00\x00\x01\x01\x02\x20\x01" + b"a" * 32, 1),
}


@pytest.mark.parametrize("kind", DAMAGED)
@pytest.mark.parametrize("with_headers", [True, False])
def test_damage_is_refused_and_leaves_nothing(
    builder_type: type[Builder], kind: str, with_headers: bool
) -> None:
    """Also of the sound records that stood before it in the same batch."""
    data, count = DAMAGED[kind]
    builder = builder_type(with_headers)
    sound = [(0, 0, b"k", b"v", [("h", b"1")]), (1, 0, None, b"", ()), (2, 0, b"k", None, [("h", None)])]
    add(builder, sound)
    with pytest.raises(MalformedRecords):
        builder.add(data, count, 9, BASE_MS, CREATE_TIME, *ALL)
    if count > 0:
        with pytest.raises(MalformedRecords):
            builder.add(plain(sound) + data, min(3 + count, 2**31 - 1), 9, BASE_MS, CREATE_TIME, *ALL)
    assert builder.row_count == 3
    add(builder, sound, base=3)
    rows = rows_of(builder.take())
    assert [row.offset for row in rows] == [0, 1, 2, 3, 4, 5]
    assert [(row.key, row.value) for row in rows] == [(b"k", b"v"), (None, b""), (b"k", None)] * 2
    if with_headers:
        assert [row.headers for row in rows] == [((b"h", b"1"),), None, ((b"h", None),)] * 2


@pytest.mark.parametrize("base", [-1, 2**62 + 1])
def test_offsets_that_no_log_has_are_refused(builder_type: type[Builder], base: int) -> None:
    with pytest.raises(MalformedRecords, match="cannot begin at offset"):
        add(builder_type(False), [(0, 0, None, b"x")], base=base)


def test_timestamps_that_overflow_are_refused(builder_type: type[Builder]) -> None:
    with pytest.raises(MalformedRecords, match="64 bits"):
        builder_type(False).add(plain([(0, 2**62, None, b"x")]), 1, 0, 2**63 - 5, CREATE_TIME, *ALL)
