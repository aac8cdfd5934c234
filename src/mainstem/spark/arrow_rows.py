"""What a task is given to write: Arrow batches, held against the columns of the sink and taken apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    StringType,
    StructType,
    TimestampType,
)

from mainstem.model.columns import BytesColumn, HeadersColumn
from mainstem.model.new_columns import NewColumns
from mainstem.spark.errors import InvalidRows

_CONTENT: Final = (BinaryType, StringType)
_COLUMNS: Final[dict[str, tuple[tuple[type[DataType], ...], str]]] = {
    "key": (_CONTENT, "binary or string"),
    "value": (_CONTENT, "binary or string"),
    "topic": ((StringType,), "string"),
    "partition": ((IntegerType,), "int"),
    "timestamp": ((TimestampType,), "timestamp"),
    "headers": ((ArrayType,), "array<struct<key:string,value:binary>>"),
}
_HEADER: Final = ("struct<key:string,value:binary>",)


def check_columns(schema: StructType, has_topic: bool) -> None:
    """Tells what is wrong with the columns of a frame before anything is written."""
    for field in schema:
        if field.name not in _COLUMNS:
            raise InvalidRows(
                f"column {field.name!r} has no meaning to the sink",
                f"Select {', '.join(_COLUMNS)}; pack all else into value, with to_json for example.",
            )
        kinds, name = _COLUMNS[field.name]
        is_right = isinstance(field.dataType, kinds)
        if isinstance(field.dataType, ArrayType):
            is_right = is_right and field.dataType.elementType.simpleString() in _HEADER
        if not is_right:
            raise InvalidRows(
                f"column {field.name!r} is {field.dataType.simpleString()}, not {name}", "Cast it."
            )
    if "value" not in schema.names:
        raise InvalidRows("there is no column 'value'", "Select one, binary or string.")
    if "topic" not in schema.names and not has_topic:
        raise InvalidRows(
            "nothing says which topic to write to", 'Set the option "topic", or select a column "topic".'
        )


def by_topic(batch: Any, topic: str | None) -> Iterator[tuple[str, Any]]:
    """The rows of each topic, in their order; the option rules over the column."""
    if topic is not None:
        yield topic, batch
        return
    names = batch.column("topic")
    if names.null_count:
        raise InvalidRows("a row has no topic", 'Set the option "topic", or fill the column.')
    found = pc.unique(names).to_pylist()
    for name in found:
        yield name, batch if len(found) == 1 else batch.filter(pc.equal(names, name))


def new_columns(batch: Any, now_ms: int) -> NewColumns:
    count = batch.num_rows
    names = batch.schema.names
    return NewColumns(
        count,
        _timestamps(batch.column("timestamp"), now_ms)
        if "timestamp" in names
        else pa.repeat(pa.scalar(now_ms, pa.int64()), count).buffers()[1],
        _content(batch.column("key")) if "key" in names else None,
        _content(batch.column("value")),
        _headers(batch.column("headers")) if "headers" in names else None,
    )


def chosen_partitions(batch: Any, topic: str, partition_count: int) -> Any:
    """The column of partitions as int32, -1 where there is none; None without the column."""
    if "partition" not in batch.schema.names:
        return None
    column = _from_zero(batch.column("partition"))
    bounds = pc.min_max(column)
    for wished in (bounds["min"].as_py(), bounds["max"].as_py()):
        if wished is not None and not 0 <= wished < partition_count:
            raise InvalidRows(
                f"a row is for partition {wished} of topic {topic}",
                f"The topic has partitions 0 to {partition_count - 1}.",
            )
    return pc.fill_null(column, -1).buffers()[1]


def _timestamps(column: Any, now_ms: int) -> Any:
    microseconds = _from_zero(column).view(pa.int64())
    return pc.fill_null(pc.divide(microseconds, 1_000), now_ms).buffers()[1]


def _content(column: Any) -> BytesColumn:
    if pa.types.is_large_binary(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.binary())
    column = _from_zero(column)
    validity, offsets, data = column.buffers()
    if offsets is None:  # of an array without rows
        offsets = bytes(4)
    return BytesColumn(column.null_count, validity if column.null_count else None, offsets, data or b"")


def _headers(column: Any) -> HeadersColumn:
    column = _from_zero(column)
    entries = column.values
    keys = entries.field("key")
    if keys.null_count or entries.null_count:
        raise InvalidRows("a header has no key", "Filter such headers out.")
    validity, offsets = column.buffers()[:2]
    return HeadersColumn(
        column.null_count,
        validity if column.null_count else None,
        offsets or bytes(4),
        len(entries),
        _content(keys),
        _content(entries.field("value")),
    )


def _from_zero(column: Any) -> Any:
    """The same rows with buffers that begin at the first of them."""
    return pa.concat_arrays([column, column.slice(0, 0)]) if column.offset else column
