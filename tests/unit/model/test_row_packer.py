"""Both packers of rows, the compiled and the plain one, under one suite."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainstem.model import row_packer
from mainstem.model._row_packer import RowPacker as CompiledRowPacker
from mainstem.model.column_builder import ColumnBuilder
from mainstem.model.columns import CREATE_TIME
from mainstem.model.murmur import partition_for_key
from mainstem.model.new_columns import NewColumns, Packer
from mainstem.model.records import NewRecord, encode_record

PACKERS: dict[str, type[Packer]] = {"python": row_packer.RowPacker, "compiled": CompiledRowPacker}
CONTENT = st.none() | st.binary(max_size=300)
RECORDS = st.lists(
    st.builds(
        NewRecord,
        CONTENT,
        CONTENT,
        st.lists(st.tuples(st.binary(max_size=20), CONTENT), max_size=3),
        st.integers(-(2**61), 2**61),
    ),
    min_size=1,
    max_size=40,
)


@pytest.fixture(params=list(PACKERS))
def packer_type(request: pytest.FixtureRequest) -> type[Packer]:
    return PACKERS[request.param]


def columns_of(records: list[NewRecord]) -> NewColumns:
    builder = ColumnBuilder(True)
    for row, record in enumerate(records):
        data = encode_record(0, 0, record.key, record.value, record.headers)
        builder.add(data, 1, row, record.timestamp_ms, CREATE_TIME, 0, 2**62)
    columns = builder.take()
    return NewColumns(columns.row_count, columns.timestamps_ms, columns.keys, columns.values, columns.headers)


def rows(*numbers: int) -> memoryview:
    return memoryview(array("i", numbers))


def expected(records: list[NewRecord]) -> bytes:
    base_ms = records[0].timestamp_ms
    return b"".join(
        encode_record(row, record.timestamp_ms - base_ms, record.key, record.value, record.headers)
        for row, record in enumerate(records)
    )


@settings(deadline=None)
@given(RECORDS)
@pytest.mark.parametrize("kind", list(PACKERS))
def test_packed_rows_are_encoded_records(kind: str, records: list[NewRecord]) -> None:
    packer = PACKERS[kind](columns_of(records))
    order = list(reversed(range(len(records))))
    packed = packer.pack(rows(*order), 0, len(order), 1 << 30)
    turned = [records[row] for row in order]
    assert bytes(packed.payload) == expected(turned)
    assert packed.row_count == len(records)
    assert packed.base_timestamp_ms == turned[0].timestamp_ms
    assert packed.max_timestamp_ms == max(record.timestamp_ms for record in records)


@settings(deadline=None)
@given(RECORDS, st.integers(1, 2_000))
@pytest.mark.parametrize("kind", list(PACKERS))
def test_batches_keep_to_their_size_and_lose_nothing(
    kind: str, records: list[NewRecord], max_bytes: int
) -> None:
    packer = PACKERS[kind](columns_of(records))
    order = rows(*range(len(records)))
    first = 0
    while first < len(records):
        packed = packer.pack(order, first, len(records), max_bytes)
        mine = records[first : first + packed.row_count]
        assert bytes(packed.payload) == expected(mine)
        assert packed.row_count == 1 or len(packed.payload) <= max_bytes
        following = records[first : first + packed.row_count + 1]
        assert len(following) == len(mine) or len(expected(following)) > max_bytes
        first += packed.row_count


@settings(deadline=None)
@given(st.lists(CONTENT, min_size=1, max_size=50), st.integers(1, 12))
@pytest.mark.parametrize("kind", list(PACKERS))
def test_keys_choose_partitions_as_all_producers_do(kind: str, keys: list[bytes | None], count: int) -> None:
    packer = PACKERS[kind](columns_of([NewRecord(key, b"", (), 0) for key in keys]))
    found = packer.partitions(count, count - 1, None)
    assert memoryview(found).cast("B").cast("i").tolist() == [
        count - 1 if key is None else partition_for_key(key, count) for key in keys
    ]


def test_a_chosen_partition_rules_where_there_is_one(packer_type: type[Packer]) -> None:
    packer = packer_type(columns_of([NewRecord(b"key", b"", (), 0)] * 3))
    found = packer.partitions(100, 7, rows(5, -1, 0))
    assert memoryview(found).cast("B").cast("i").tolist() == [5, partition_for_key(b"key", 100), 0]


def test_rows_are_grouped_in_their_order(packer_type: type[Packer]) -> None:
    packer = packer_type(columns_of([NewRecord(None, b"", (), 0)] * 6))
    order, bounds = packer.grouped(rows(2, 0, 2, 0, 3, 2), 4)
    assert memoryview(order).cast("B").cast("i").tolist() == [1, 3, 0, 2, 5, 4]
    assert bounds == [0, 2, 2, 5, 6]
    with pytest.raises(ValueError, match="row 1 is for partition 4 of 4"):
        packer.grouped(rows(0, 4, 0, 0, 0, 0), 4)


def test_columns_that_are_not_there(packer_type: type[Packer]) -> None:
    packer = packer_type(NewColumns(2, array("q", (5, 4)).tobytes(), None, None, None))
    assert memoryview(packer.partitions(3, 1, None)).cast("B").cast("i").tolist() == [1, 1]
    packed = packer.pack(rows(0, 1), 0, 2, 1000)
    assert bytes(packed.payload) == encode_record(0, 0, None, None) + encode_record(1, -1, None, None)
    assert (packed.base_timestamp_ms, packed.max_timestamp_ms) == (5, 5)
