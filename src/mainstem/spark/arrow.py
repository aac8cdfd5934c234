"""The columns of Spark's Kafka source, made of `RecordColumns` without copying them.

A RecordBatch must have exactly the schema that Spark derives from ours, down to the time zone, so the
types are taken from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from mainstem.model.batch import Buffer
from mainstem.model.columns import BytesColumn, HeadersColumn, RecordColumns
from mainstem.model.ids import TopicPartition

HEADERS_TYPE: Final = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)
_US_PER_MS: Final = 1_000


def source_schema(with_headers: bool) -> StructType:
    fields = [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
    ]
    return StructType(fields + ([StructField("headers", HEADERS_TYPE)] if with_headers else []))


class ArrowAssembly:
    """Makes the record batches of one partition; what is the same in every row is made once."""

    def __init__(self, partition: TopicPartition, with_headers: bool, chunk_bytes: int) -> None:
        self._partition = partition
        self._chunk_bytes = chunk_bytes
        self._schema = to_arrow_schema(source_schema(with_headers), timezone="UTC")
        self._topics = self._numbers = pa.nulls(0)

    def batches(self, columns: RecordColumns) -> Iterator[Any]:
        """One record batch, or slices of it where one Kafka batch was far larger than a chunk."""
        whole = self._record_batch(columns)
        data_bytes = len(columns.keys.data) + len(columns.values.data)
        pieces = max(1, data_bytes // (2 * self._chunk_bytes))
        rows = -(-columns.row_count // pieces)
        for start in range(0, columns.row_count, rows):
            yield whole.slice(start, rows)

    def _record_batch(self, columns: RecordColumns) -> Any:
        count = columns.row_count
        if len(self._topics) < count:
            self._topics = pa.repeat(
                pa.scalar(self._partition.topic, self._schema.field("topic").type), count
            )
            self._numbers = pa.repeat(pa.scalar(self._partition.partition, pa.int32()), count)
        milliseconds = _numbers(pa.int64(), columns.timestamps_ms, count)
        arrays = [
            _bytes(self._schema.field("key").type, columns.keys, count),
            _bytes(self._schema.field("value").type, columns.values, count),
            self._topics.slice(0, count),
            self._numbers.slice(0, count),
            _numbers(pa.int64(), columns.offsets, count),
            pc.multiply(milliseconds, _US_PER_MS).view(self._schema.field("timestamp").type),
            _numbers(pa.int32(), columns.timestamp_types, count),
        ]
        if columns.headers is not None:
            arrays.append(_headers(self._schema.field("headers").type, columns.headers, count))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _numbers(kind: Any, buffer: Buffer, count: int) -> Any:
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(buffer)])


def _bytes(kind: Any, column: BytesColumn, count: int) -> Any:
    buffers = [_validity(column.validity), pa.py_buffer(column.offsets), pa.py_buffer(column.data)]
    return pa.Array.from_buffers(kind, count, buffers, column.null_count)


def _headers(kind: Any, column: HeadersColumn, count: int) -> Any:
    entry = kind.value_type
    keys = _text(entry.field("key").type, column.keys, column.entry_count)
    values = _bytes(entry.field("value").type, column.values, column.entry_count)
    entries = pa.StructArray.from_arrays([keys, values], fields=[entry.field("key"), entry.field("value")])
    buffers = [_validity(column.validity), pa.py_buffer(column.offsets)]
    return pa.Array.from_buffers(kind, count, buffers, column.null_count, children=[entries])


def _text(kind: Any, column: BytesColumn, count: int) -> Any:
    """Spark's strings are UTF-8; what is none is shown with replacement characters, as Java does."""
    try:
        found = _bytes(kind, column, count)
        found.validate(full=True)
        return found
    except pa.ArrowInvalid:
        names = _bytes(pa.binary(), column, count).to_pylist()
        return pa.array([name.decode("utf-8", "replace") for name in names], kind)


def _validity(bits: Buffer | None) -> Any:
    return None if bits is None else pa.py_buffer(bits)
