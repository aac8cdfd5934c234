"""Columns on their way to a broker: rows told apart by partition, and packed into the bytes of records.

The counterpart of `columns`, over the same buffers. `RowPacker` has a compiled twin as well
(`_row_packer.pyx`); the plain one is in `row_packer`, and one test suite runs both.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from mainstem.model.batch import Buffer
from mainstem.model.columns import BytesColumn, HeadersColumn

DEFAULT_BATCH_BYTES: Final = 512 * 1024


class NewColumns(NamedTuple):
    row_count: int
    timestamps_ms: Buffer  # int64
    keys: BytesColumn | None  # None: no row has a key
    values: BytesColumn | None
    headers: HeadersColumn | None


class PackedRows(NamedTuple):
    payload: Buffer  # what follows the header of a batch, before compression
    row_count: int
    base_timestamp_ms: int
    max_timestamp_ms: int


class Packer(Protocol):
    """The rows of one set of columns."""

    def __init__(self, columns: NewColumns) -> None: ...

    def partitions(self, partition_count: int, keyless: int, chosen: Buffer | None) -> Buffer:
        """The partition of each row, int32: what `chosen` (int32) says where it is not negative,
        then by the hash of the key, and `keyless` for a row without one."""
        ...

    def grouped(self, partitions: Buffer, partition_count: int) -> tuple[Buffer, list[int]]:
        """The rows in order of partition and, within one, as they came (int32), and where each partition
        begins in that order; the last bound is the end."""
        ...

    def pack(self, order: Buffer, first: int, end: int, max_bytes: int) -> PackedRows:
        """As many of `order[first:end]` as `max_bytes` takes, at least one, numbered from 0."""
        ...
