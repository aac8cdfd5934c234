"""The builder of columns that needs no compiler: plain loops over the bytes of a batch.

It makes integers of lengths, and no object of a record. Its compiled twin is `_column_builder.pyx`;
`tests/unit/model/test_column_builder.py` runs both.
"""

from __future__ import annotations

from array import array
from itertools import repeat
from typing import Final

from mainstem.model.batch import Buffer
from mainstem.model.columns import (
    INT32_MAX,
    LOG_APPEND_TIME,
    MAX_BASE_OFFSET,
    BytesColumn,
    HeadersColumn,
    RecordColumns,
)
from mainstem.model.errors import MalformedRecords
from mainstem.model.records import MIN_RECORD_BYTES
from mainstem.model.varint import MAX_VARLONG_BYTES, decode_varint

_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1


class _GrowingBytes:
    """One column of byte strings under construction."""

    __slots__ = ("data", "nulls", "offsets")

    def __init__(self) -> None:
        self.data = bytearray()
        self.offsets = array("i", (0,))
        self.nulls: list[int] = []  # rows without a value, ascending

    @property
    def row_count(self) -> int:
        return len(self.offsets) - 1

    def append(self, plain: bytes, start: int, length: int) -> None:
        if length < 0:
            self.nulls.append(len(self.offsets) - 1)
        else:
            self.data += plain[start : start + length]
        self.offsets.append(len(self.data))

    def cut(self, row_count: int) -> None:
        """Forgets the rows from `row_count` on."""
        del self.offsets[row_count + 1 :]
        del self.data[self.offsets[-1] :]
        while self.nulls and self.nulls[-1] >= row_count:
            self.nulls.pop()

    def take(self) -> BytesColumn:
        column = BytesColumn(
            len(self.nulls), _validity(self.row_count, self.nulls), memoryview(self.offsets), self.data
        )
        _GrowingBytes.__init__(self)
        return column


def _validity(row_count: int, nulls: list[int]) -> bytearray | None:
    if not nulls:
        return None
    bits = bytearray(b"\xff" * ((row_count + 7) // 8))
    for row in nulls:
        bits[row >> 3] &= ~(1 << (row & 7)) & 0xFF
    return bits


class ColumnBuilder:
    def __init__(self, with_headers: bool) -> None:
        self._with_headers = with_headers
        self._start()

    def _start(self) -> None:
        self._offsets = array("q")
        self._timestamps = array("q")
        self._types = array("i")
        self._keys = _GrowingBytes()
        self._values = _GrowingBytes()
        self._header_offsets = array("i", (0,))
        self._without_headers: list[int] = []
        self._header_keys = _GrowingBytes()
        self._header_values = _GrowingBytes()

    @property
    def row_count(self) -> int:
        return len(self._offsets)

    @property
    def data_bytes(self) -> int:
        return (
            len(self._keys.data)
            + len(self._values.data)
            + len(self._header_keys.data)
            + len(self._header_values.data)
        )

    def add(
        self,
        plain: Buffer,
        record_count: int,
        base_offset: int,
        timestamp_ms: int,
        timestamp_type: int,
        first: int,
        end: int,
    ) -> int:
        view = bytes(plain)  # faster to index than a view, by more than the copy costs
        size = len(view)
        if record_count < 0 or record_count * MIN_RECORD_BYTES > size:
            raise MalformedRecords(f"{record_count} records do not fit into {size} bytes")
        if not 0 <= base_offset <= MAX_BASE_OFFSET:
            raise MalformedRecords(f"a batch cannot begin at offset {base_offset}")
        if self.data_bytes + size > INT32_MAX:
            raise MalformedRecords("the columns would grow beyond 2 GiB")
        before = self.row_count
        position = 0
        try:
            for _ in range(record_count):
                position = self._add_record(
                    view, position, base_offset, timestamp_ms, timestamp_type == LOG_APPEND_TIME, first, end
                )
            if position != size:
                raise MalformedRecords(f"{size - position} bytes follow the last record")
        except (IndexError, MalformedRecords) as error:
            self._cut(before)
            if isinstance(error, IndexError):
                raise MalformedRecords("the records end too early") from error
            raise
        added = self.row_count - before
        self._types.extend(repeat(timestamp_type, added))
        return added

    def _add_record(
        self,
        view: bytes,
        position: int,
        base_offset: int,
        timestamp_ms: int,
        is_append_time: bool,
        first: int,
        end: int,
    ) -> int:
        length, position = decode_varint(view, position)
        record_end = position + length
        if length < MIN_RECORD_BYTES - 1 or record_end > len(view):
            raise MalformedRecords(f"a record claims {length} bytes")
        delta, position = decode_varint(view, position + 1, MAX_VARLONG_BYTES)
        if not is_append_time:
            timestamp_ms += delta
        if not _INT64_MIN <= delta <= _INT64_MAX or not _INT64_MIN <= timestamp_ms <= _INT64_MAX:
            raise MalformedRecords("a timestamp has more than 64 bits")
        delta, position = decode_varint(view, position)
        key_length, key_start = decode_varint(view, position)
        position = _after(key_start, key_length, record_end)
        value_length, value_start = decode_varint(view, position)
        position = _after(value_start, value_length, record_end)
        header_count, position = decode_varint(view, position)
        offset = base_offset + delta
        is_wanted = first <= offset < end
        if is_wanted:
            self._offsets.append(offset)
            self._timestamps.append(timestamp_ms)
            self._keys.append(view, key_start, key_length)
            self._values.append(view, value_start, value_length)
        if header_count:
            position = self._add_headers(
                view, position, record_end, header_count, is_wanted and self._with_headers
            )
        elif is_wanted and self._with_headers:
            self._without_headers.append(len(self._offsets) - 1)
        if is_wanted and self._with_headers:
            self._header_offsets.append(self._header_keys.row_count)
        if position != record_end:
            raise MalformedRecords("a record's length and its fields disagree")
        return position

    def _add_headers(self, view: bytes, position: int, record_end: int, count: int, is_wanted: bool) -> int:
        if not 0 <= count <= (record_end - position) // 2:
            raise MalformedRecords(f"a record claims {count} headers")
        for _ in range(count):
            key_length, key_start = decode_varint(view, position)
            if key_length < 0:
                raise MalformedRecords("a header without a key")
            position = _after(key_start, key_length, record_end)
            value_length, value_start = decode_varint(view, position)
            position = _after(value_start, value_length, record_end)
            if is_wanted:
                self._header_keys.append(view, key_start, key_length)
                self._header_values.append(view, value_start, value_length)
        return position

    def _cut(self, row_count: int) -> None:
        del self._offsets[row_count:]
        del self._timestamps[row_count:]
        self._keys.cut(row_count)
        self._values.cut(row_count)
        if self._with_headers:
            del self._header_offsets[row_count + 1 :]
            while self._without_headers and self._without_headers[-1] >= row_count:
                self._without_headers.pop()
            self._header_keys.cut(self._header_offsets[-1])
            self._header_values.cut(self._header_offsets[-1])

    def take(self) -> RecordColumns:
        headers = None
        if self._with_headers:
            headers = HeadersColumn(
                len(self._without_headers),
                _validity(self.row_count, self._without_headers),
                memoryview(self._header_offsets),
                self._header_keys.row_count,
                self._header_keys.take(),
                self._header_values.take(),
            )
        columns = RecordColumns(
            self.row_count,
            memoryview(self._offsets),
            memoryview(self._timestamps),
            memoryview(self._types),
            self._keys.take(),
            self._values.take(),
            headers,
        )
        self._start()
        return columns


def _after(start: int, length: int, end: int) -> int:
    """Where a field of `length` ends that starts at `start`; a negative length is null."""
    if length > end - start:
        raise MalformedRecords(f"a field claims {length} bytes of {end - start}")
    return start + length if length > 0 else start
