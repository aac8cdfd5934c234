"""The two builders of columns against the record codec, and against each other on damaged bytes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.columns import BUILDERS, Row, rows_of

from mainstem.model.columns import CREATE_TIME
from mainstem.model.errors import MalformedRecords
from mainstem.model.records import NewRecord, build_batch, decode_records, encode_record

CONTENT = st.none() | st.binary(max_size=200)
RECORDS = st.lists(
    st.builds(
        NewRecord,
        CONTENT,
        CONTENT,
        st.lists(st.tuples(st.binary(max_size=20), CONTENT), max_size=4),
        st.integers(-(2**62), 2**62),
    ),
    min_size=1,
    max_size=30,
)


@settings(deadline=None)
@given(st.lists(RECORDS, max_size=5), st.booleans())
def test_columns_hold_what_the_codec_reads(batches: list[list[NewRecord]], with_headers: bool) -> None:
    builders = [kind(with_headers) for kind in BUILDERS.values()]
    expected: list[Row] = []
    base = 0
    for records in batches:
        batch = build_batch(records, base_offset=base)
        base_ms = records[0].timestamp_ms
        for record in decode_records(batch):
            expected.append(
                Row(
                    base + record.offset_delta,
                    base_ms + record.timestamp_delta,
                    CREATE_TIME,
                    record.key,
                    record.value,
                    (record.headers or None) if with_headers else None,
                )
            )
        for builder in builders:
            builder.add(batch[61:], len(records), base, base_ms, CREATE_TIME, 0, 2**62)
        base += len(records)
    for builder in builders:
        assert rows_of(builder.take()) == expected


@settings(deadline=None)
@given(RECORDS, st.data())
def test_both_builders_judge_damaged_bytes_alike(records: list[NewRecord], data: st.DataObject) -> None:
    plain = bytearray(
        b"".join(
            encode_record(row, 0, record.key, record.value, record.headers)
            for row, record in enumerate(records)
        )
    )
    for _ in range(data.draw(st.integers(1, 3))):
        plain[data.draw(st.integers(0, len(plain) - 1))] = data.draw(st.integers(0, 255))
    verdicts = []
    for kind in BUILDERS.values():
        builder = kind(True)
        try:
            builder.add(bytes(plain), len(records), 5, 0, CREATE_TIME, 0, 2**62)
        except MalformedRecords:
            assert builder.row_count == 0
            verdicts.append(None)
        else:
            verdicts.append(rows_of(builder.take()))
    assert verdicts[0] == verdicts[1]
