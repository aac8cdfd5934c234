"""From fetched bytes to columns: codecs, windows, control batches, aborted transactions, damage."""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct

import pytest
from tests.support.columns import BUILDERS, Row, rows_of

from mainstem.model import compression
from mainstem.model.column_decoder import (
    CHUNK_ROWS,
    AbortedTransaction,
    DamagedRecords,
    PartitionDecoder,
    whole_batches,
)
from mainstem.model.columns import CREATE_TIME, LOG_APPEND_TIME, Builder
from mainstem.model.records import NewRecord, build_batch

COMMIT, ABORT = 1, 0
MARKER_KEY = Struct(">hh")


@pytest.fixture(params=list(BUILDERS))
def builder_type(request: pytest.FixtureRequest) -> type[Builder]:
    return BUILDERS[request.param]


def batch(values: Iterable[bytes], base: int, **options: object) -> bytes:
    records = [NewRecord(b"k", value, timestamp_ms=1_000 + row) for row, value in enumerate(values)]
    return build_batch(records, base_offset=base, **options)  # type: ignore[arg-type]


def marker(kind: int, base: int, producer_id: int) -> bytes:
    record = NewRecord(MARKER_KEY.pack(0, kind), b"\x00" * 6, timestamp_ms=1)
    return build_batch(
        [record],
        base_offset=base,
        producer_id=producer_id,
        producer_epoch=0,
        is_transactional=True,
        is_control=True,
    )


def decoded(
    builder_type: type[Builder],
    records: bytes,
    *,
    first: int = 0,
    end: int = 2**60,
    aborted: Iterable[AbortedTransaction] = (),
    chunk_bytes: int = 1 << 20,
) -> list[list[Row]]:
    decoder = PartitionDecoder(builder=builder_type, chunk_bytes=chunk_bytes)
    batches = whole_batches(records, first)
    chunks = list(decoder.decode(records, batches, first=first, end=end, aborted=aborted))
    rest = decoder.rest()
    return [rows_of(chunk) for chunk in chunks + ([rest] if rest else [])]


def values(chunks: list[list[Row]]) -> list[bytes | None]:
    return [row.value for chunk in chunks for row in chunk]


@pytest.mark.parametrize("codec", range(len(compression.CODEC_NAMES)))
def test_all_codecs(builder_type: type[Builder], codec: int) -> None:
    sent = [b"%d" % number * 50 for number in range(200)]
    records = batch(sent[:120], 0, codec=codec) + batch(sent[120:], 120, codec=codec)
    assert values(decoded(builder_type, records)) == sent


def test_the_window_cuts_batches_at_both_ends(builder_type: type[Builder]) -> None:
    records = b"".join(batch([b"%d" % (base + row) for row in range(10)], base) for base in range(0, 50, 10))
    assert values(decoded(builder_type, records, first=15, end=32)) == [b"%d" % row for row in range(15, 32)]


def test_a_batch_that_is_cut_off_waits_for_the_next_fetch(builder_type: type[Builder]) -> None:
    whole = batch([b"a", b"b"], 0)
    following = batch([b"c"], 2)
    for cut in range(len(following)):
        records = whole + following[:cut]
        assert [found.header.base_offset for found in whole_batches(records, 0)] == [0]
        assert values(decoded(builder_type, records)) == [b"a", b"b"]


def test_batches_before_the_position_are_passed_over() -> None:
    records = batch([b"a", b"b"], 0) + batch([b"c", b"d"], 2) + batch([b"e"], 4)
    assert [found.header.base_offset for found in whole_batches(records, 3)] == [2, 4]
    assert whole_batches(records, 5) == []


def test_times_of_creation_and_of_append(builder_type: type[Builder]) -> None:
    records = batch([b"a", b"b"], 0) + batch([b"c", b"d"], 2, log_append_time_ms=77) + batch([b"e"], 4)
    (rows,) = decoded(builder_type, records)
    assert [(row.timestamp_ms, row.timestamp_type) for row in rows] == [
        (1_000, CREATE_TIME),
        (1_001, CREATE_TIME),
        (77, LOG_APPEND_TIME),
        (77, LOG_APPEND_TIME),
        (1_000, CREATE_TIME),
    ]


def test_records_without_a_time_keep_minus_one(builder_type: type[Builder]) -> None:
    records = build_batch([NewRecord(None, b"a"), NewRecord(None, b"b")])
    (rows,) = decoded(builder_type, records)
    assert [row.timestamp_ms for row in rows] == [-1, -1]


def test_aborted_transactions_are_left_out_and_committed_ones_are_not(builder_type: type[Builder]) -> None:
    records = b"".join(
        [
            batch([b"plain 0"], 0),
            batch([b"aborted 1"], 1, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True),
            batch([b"kept 2"], 2, producer_id=8, producer_epoch=0, base_sequence=0, is_transactional=True),
            batch([b"aborted 3"], 3, producer_id=7, producer_epoch=0, base_sequence=1, is_transactional=True),
            batch([b"idempotent 4"], 4, producer_id=7, producer_epoch=0, base_sequence=1),
            marker(COMMIT, 5, 8),
            marker(ABORT, 6, 7),
            batch([b"kept 7"], 7, producer_id=7, producer_epoch=0, base_sequence=2, is_transactional=True),
            marker(COMMIT, 8, 7),
            batch([b"aborted 9"], 9, producer_id=8, producer_epoch=0, base_sequence=1, is_transactional=True),
            marker(ABORT, 10, 8),
        ]
    )
    aborted = [AbortedTransaction(8, 9), AbortedTransaction(7, 1)]  # in any order
    assert values(decoded(builder_type, records, aborted=aborted)) == [
        b"plain 0",
        b"kept 2",
        b"idempotent 4",
        b"kept 7",
    ]
    assert len(values(decoded(builder_type, records))) == 7  # read uncommitted: all but the markers


def test_a_fetch_that_starts_inside_an_aborted_transaction(builder_type: type[Builder]) -> None:
    records = batch([b"x", b"y"], 10, producer_id=7, producer_epoch=0, base_sequence=5, is_transactional=True)
    assert values(decoded(builder_type, records, first=11, aborted=[AbortedTransaction(7, 3)])) == []


def test_chunks_end_when_they_are_full(builder_type: type[Builder]) -> None:
    records = b"".join(batch([b"v" * 99] * 10, base) for base in range(0, 100, 10))
    chunks = decoded(builder_type, records, chunk_bytes=3_000)
    assert [len(chunk) for chunk in chunks] == [30, 30, 30, 10]
    assert [row.offset for chunk in chunks for row in chunk] == list(range(100))


def test_chunks_of_empty_records_end_as_well(builder_type: type[Builder]) -> None:
    empty = [NewRecord(None, None)] * (CHUNK_ROWS // 4)
    records = b"".join(build_batch(empty, base_offset=base * len(empty)) for base in range(5))
    assert [len(chunk) for chunk in decoded(builder_type, records)] == [CHUNK_ROWS, CHUNK_ROWS // 4]


def damaged(data: bytes, position: int, replacement: bytes) -> bytes:
    return data[:position] + replacement + data[position + len(replacement) :]


SOUND = batch([b"value one", b"value two"], 40)


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        (damaged(SOUND, 70, b"\xff"), "checksum"),
        (damaged(SOUND, 16, b"\x01"), "record format 1"),
        (damaged(SOUND, 16, b"\x00"), "record format 0"),
        (damaged(SOUND, 8, b"\x00\x00\x00\x01"), "claims to take 13 bytes"),
        (damaged(SOUND, 0, b"\xff"), "negative"),
    ],
)
def test_damage_is_told_with_its_offset(builder_type: type[Builder], records: bytes, reason: str) -> None:
    good = batch([b"a"], 39)
    with pytest.raises(DamagedRecords, match=reason) as caught:
        decoded(builder_type, good + records, first=39)
    assert caught.value.offset == 40


def test_damage_inside_a_sound_checksum_is_told(builder_type: type[Builder]) -> None:
    """What a producer wrote so; the broker checks no records."""
    from mainstem.model.batch import HEADER_BYTES, parse_header
    from mainstem.model.records import seal_batch

    header = parse_header(SOUND)
    liar = seal_batch(header._replace(record_count=3), SOUND[HEADER_BYTES:])
    with pytest.raises(DamagedRecords, match="offset 40 is damaged"):
        decoded(builder_type, liar)
    unreadable = seal_batch(header._replace(attributes=compression.ZSTD), SOUND[HEADER_BYTES:])
    with pytest.raises(DamagedRecords, match="zstd"):
        decoded(builder_type, unreadable)
    unknown = seal_batch(header._replace(attributes=7), SOUND[HEADER_BYTES:])
    with pytest.raises(DamagedRecords, match="no codec 7"):
        decoded(builder_type, unknown)
    nameless = build_batch([NewRecord(b"\x00", b"")], base_offset=3, producer_id=7, is_control=True)
    with pytest.raises(DamagedRecords, match="without a type"):
        decoded(builder_type, nameless, aborted=[AbortedTransaction(7, 0)])
