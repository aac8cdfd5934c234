"""Records as columns: the buffers that Arrow lays over memory, without Arrow.

A table of records is a few flat buffers, each the concatenation of one field of all rows. Who has
pyarrow wraps them without a copy (`spark/`); who has not reads them with `memoryview.cast`. Numbers
are in the machine's own byte order.

    integers        one value a row
    bytes           the values one after another; row i is data[offsets[i]:offsets[i + 1]], int32
    nulls           one bit a row, the lowest bit first, 1 where there is a value; no bits where every
                    row has one

There are two builders, which do the same and are held to it by one test suite: `ColumnBuilder` in
`_column_builder` (typed Cython, present where a compiler was when the package was built) and the one
in `column_builder`, which needs nothing.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from mainstem.model.batch import Buffer

CREATE_TIME: Final = 0
LOG_APPEND_TIME: Final = 1

INT32_MAX: Final = 2**31 - 1
MAX_BASE_OFFSET: Final = 2**62  # beyond it a batch's offsets could overflow; no log gets there


class BytesColumn(NamedTuple):
    null_count: int
    validity: Buffer | None
    offsets: Buffer  # int32, one more than rows
    data: Buffer


class HeadersColumn(NamedTuple):
    """A list a row, null where a record has no headers; row i is entries[offsets[i]:offsets[i + 1]]."""

    null_count: int
    validity: Buffer | None
    offsets: Buffer  # int32, one more than rows
    entry_count: int
    keys: BytesColumn
    values: BytesColumn


class RecordColumns(NamedTuple):
    row_count: int
    offsets: Buffer  # int64
    timestamps_ms: Buffer  # int64
    timestamp_types: Buffer  # int32: CREATE_TIME or LOG_APPEND_TIME
    keys: BytesColumn
    values: BytesColumn
    headers: HeadersColumn | None  # None: not asked for


class Builder(Protocol):
    """Grows columns by the records of one batch after another."""

    def __init__(self, with_headers: bool) -> None: ...

    @property
    def row_count(self) -> int: ...

    @property
    def data_bytes(self) -> int:
        """What the keys, values and headers so far take."""
        ...

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
        """Adds the records in `plain` (decompressed) whose offsets are in first..end-1, and counts them.

        `timestamp_ms` is the batch's base timestamp, or for LOG_APPEND_TIME that of every record.
        `MalformedRecords` where lengths or counts lie; then nothing was added.
        """
        ...

    def take(self) -> RecordColumns:
        """What was added since the last time; the builder starts empty again."""
        ...
