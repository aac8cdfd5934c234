"""The packer of rows that needs no compiler; its compiled twin is `_row_packer.pyx`."""

from __future__ import annotations

from array import array

from mainstem.model.batch import Buffer
from mainstem.model.columns import BytesColumn
from mainstem.model.murmur import partition_for_key
from mainstem.model.new_columns import NewColumns, PackedRows
from mainstem.model.records import Headers, encode_record


class _Cells:
    """One column of byte strings, row by row."""

    def __init__(self, column: BytesColumn) -> None:
        self._bounds = memoryview(column.offsets).cast("B").cast("i")
        self._data = memoryview(column.data)
        self._validity = None if column.validity is None else memoryview(column.validity)

    def __getitem__(self, row: int) -> bytes | None:
        if self._validity is not None and not self._validity[row >> 3] >> (row & 7) & 1:
            return None
        return bytes(self._data[self._bounds[row] : self._bounds[row + 1]])


class _NoCells:
    def __getitem__(self, row: int) -> None:
        return None


class RowPacker:
    def __init__(self, columns: NewColumns) -> None:
        self._row_count = columns.row_count
        self._timestamps = memoryview(columns.timestamps_ms).cast("B").cast("q")
        self._keys = _NoCells() if columns.keys is None else _Cells(columns.keys)
        self._values = _NoCells() if columns.values is None else _Cells(columns.values)
        self._headers = columns.headers
        if columns.headers is not None:
            self._header_bounds = memoryview(columns.headers.offsets).cast("B").cast("i")
            self._header_keys = _Cells(columns.headers.keys)
            self._header_values = _Cells(columns.headers.values)

    def partitions(self, partition_count: int, keyless: int, chosen: Buffer | None) -> Buffer:
        wished = None if chosen is None else memoryview(chosen).cast("B").cast("i")
        found = array("i")
        for row in range(self._row_count):
            if wished is not None and wished[row] >= 0:
                found.append(wished[row])
                continue
            key = self._keys[row]
            found.append(keyless if key is None else partition_for_key(key, partition_count))
        return memoryview(found)

    def grouped(self, partitions: Buffer, partition_count: int) -> tuple[Buffer, list[int]]:
        rows: list[list[int]] = [[] for _ in range(partition_count)]
        for row, partition in enumerate(memoryview(partitions).cast("B").cast("i")):
            if not 0 <= partition < partition_count:
                raise ValueError(f"row {row} is for partition {partition} of {partition_count}")
            rows[partition].append(row)
        order = array("i")
        bounds = [0]
        for mine in rows:
            order.extend(mine)
            bounds.append(len(order))
        return memoryview(order), bounds

    def pack(self, order: Buffer, first: int, end: int, max_bytes: int) -> PackedRows:
        rows = memoryview(order).cast("B").cast("i")
        base_ms = max_ms = self._timestamps[rows[first]]
        parts: list[bytes] = []
        size = 0
        for number in range(first, end):
            row = rows[number]
            timestamp_ms = self._timestamps[row]
            record = encode_record(
                len(parts), timestamp_ms - base_ms, self._keys[row], self._values[row], self._headers_of(row)
            )
            size += len(record)
            if parts and size > max_bytes:
                break
            parts.append(record)
            max_ms = max(max_ms, timestamp_ms)
        return PackedRows(b"".join(parts), len(parts), base_ms, max_ms)

    def _headers_of(self, row: int) -> Headers:
        found = self._headers
        if found is None:
            return ()
        if found.validity is not None and not found.validity[row >> 3] >> (row & 7) & 1:
            return ()
        entries = range(self._header_bounds[row], self._header_bounds[row + 1])
        return tuple((self._header_keys[entry] or b"", self._header_values[entry]) for entry in entries)
