"""Columns of records read back row by row, to be compared with what went in."""

from __future__ import annotations

from typing import NamedTuple

from mainstem.model import column_builder
from mainstem.model._column_builder import ColumnBuilder as CompiledColumnBuilder
from mainstem.model.batch import Buffer
from mainstem.model.columns import Builder, BytesColumn, RecordColumns
from mainstem.model.records import Headers

# `make setup` compiles the twin, and without it nobody would notice that it is broken.
BUILDERS: dict[str, type[Builder]] = {
    "python": column_builder.ColumnBuilder,
    "compiled": CompiledColumnBuilder,
}


class Row(NamedTuple):
    offset: int
    timestamp_ms: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: Headers | None


def rows_of(columns: RecordColumns) -> list[Row]:
    count = columns.row_count
    headers: list[Headers | None] = [None] * count
    if columns.headers is not None:
        found = columns.headers
        keys = bytes_of(found.keys, found.entry_count)
        values = bytes_of(found.values, found.entry_count)
        bounds = numbers(found.offsets, "i")
        assert len(bounds) == count + 1
        assert bounds[count] == found.entry_count
        assert found.keys.null_count == 0
        entries = [(key or b"", value) for key, value in zip(keys, values, strict=True)]
        headers = [
            tuple(entries[bounds[row] : bounds[row + 1]]) if is_there else None
            for row, is_there in enumerate(validity_of(found.validity, found.null_count, count))
        ]
    return [
        Row(*cells)
        for cells in zip(
            numbers(columns.offsets, "q"),
            numbers(columns.timestamps_ms, "q"),
            numbers(columns.timestamp_types, "i"),
            bytes_of(columns.keys, count),
            bytes_of(columns.values, count),
            headers,
            strict=True,
        )
    ]


def bytes_of(column: BytesColumn, count: int) -> list[bytes | None]:
    bounds = numbers(column.offsets, "i")
    assert len(bounds) == count + 1
    assert bounds[0] == 0
    assert bounds[count] == len(column.data)
    return [
        bytes(column.data[bounds[row] : bounds[row + 1]]) if is_there else None
        for row, is_there in enumerate(validity_of(column.validity, column.null_count, count))
    ]


def validity_of(bits: Buffer | None, null_count: int, count: int) -> list[bool]:
    if bits is None:
        assert null_count == 0
        return [True] * count
    found = [bool(bits[row >> 3] >> (row & 7) & 1) for row in range(count)]
    assert found.count(False) == null_count > 0
    return found


def numbers(buffer: Buffer, form: str) -> list[int]:
    return memoryview(buffer).cast("B").cast(form).tolist()
