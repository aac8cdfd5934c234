"""Arrow batches taken apart for the packer, and columns that cannot be written."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from mainstem.model.records import encode_record
from mainstem.model.row_packing import PACKER
from mainstem.spark.arrow_rows import by_topic, check_columns, chosen_partitions, new_columns
from mainstem.spark.errors import InvalidRows

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
NOW_MS = 1_700_000_000_000


def packed(batch: Any) -> bytes:
    packer = PACKER(new_columns(batch, NOW_MS))
    order, _ = packer.grouped(packer.partitions(1, 0, None), 1)
    return bytes(packer.pack(order, 0, batch.num_rows, 1 << 30).payload)


def batch_of(**columns: Any) -> Any:
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def test_columns_of_all_kinds_become_records() -> None:
    at = datetime(2020, 1, 1, 0, 0, 0, 123_456, tzinfo=UTC)
    batch = batch_of(
        key=pa.array(["a", None, ""]),
        value=pa.array([b"x", b"", None]),
        timestamp=pa.array([at, None, at], pa.timestamp("us", "UTC")),
        headers=pa.array([[{"key": "h", "value": b"1"}, {"key": "n", "value": None}], None, []], HEADERS),
    )
    moved = NOW_MS - int(at.timestamp() * 1000)
    assert packed(batch) == b"".join(
        [
            encode_record(0, 0, b"a", b"x", [("h", b"1"), ("n", None)]),
            encode_record(1, moved, None, b""),
            encode_record(2, 0, b"", None),
        ]
    )


def test_slices_are_read_from_where_they_begin() -> None:
    batch = batch_of(
        key=pa.array([b"0", None, b"2", None]),
        value=pa.array(["v0", "v1", None, "v3"], pa.large_string()),
        headers=pa.array([None, [{"key": "h1", "value": b"1"}], [], [{"key": "h3", "value": b"3"}]], HEADERS),
    ).slice(1)
    assert packed(batch) == b"".join(
        [
            encode_record(0, 0, None, b"v1", [("h1", b"1")]),
            encode_record(1, 0, b"2", None),
            encode_record(2, 0, None, b"v3", [("h3", b"3")]),
        ]
    )


def test_rows_are_told_apart_by_topic() -> None:
    batch = batch_of(topic=pa.array(["a", "b", "a"]), value=pa.array([b"1", b"2", b"3"]))
    found = {topic: rows.column("value").to_pylist() for topic, rows in by_topic(batch, None)}
    assert found == {"a": [b"1", b"3"], "b": [b"2"]}
    assert [topic for topic, _ in by_topic(batch, "option")] == ["option"]
    with pytest.raises(InvalidRows, match="a row has no topic"):
        list(by_topic(batch_of(topic=pa.array(["a", None])), None))


def test_partitions_are_held_against_the_topic() -> None:
    batch = batch_of(partition=pa.array([2, None, 0], pa.int32()))
    assert memoryview(chosen_partitions(batch, "t", 3)).cast("B").cast("i").tolist()[:3] == [2, -1, 0]
    assert chosen_partitions(batch_of(value=pa.array([b""])), "t", 3) is None
    with pytest.raises(
        InvalidRows, match=r"a row is for partition 2 of topic t\. The topic has partitions 0 to 1"
    ):
        chosen_partitions(batch, "t", 2)
    with pytest.raises(InvalidRows, match="partition -1"):
        chosen_partitions(batch_of(partition=pa.array([-1], pa.int32())), "t", 2)


def test_a_header_without_a_key_is_refused() -> None:
    batch = batch_of(value=pa.array([b""]), headers=pa.array([[{"key": None, "value": b""}]], HEADERS))
    with pytest.raises(InvalidRows, match="a header has no key"):
        packed(batch)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("value string, amount int", ["'amount' has no meaning", "to_json"]),
        ("key string", ["no column 'value'"]),
        ("value int", ["'value' is int, not binary or string", "Cast"]),
        ("value string, partition bigint", ["'partition' is bigint, not int"]),
        ("value string, timestamp timestamp_ntz", ["'timestamp' is timestamp_ntz, not timestamp"]),
        ("value string, headers array<string>", ["'headers' is array<string>"]),
        ("value string", ["which topic"]),
    ],
)
def test_frames_that_cannot_be_written(schema: str, words: list[str]) -> None:
    with pytest.raises(InvalidRows) as caught:
        check_columns(parsed(schema), "which topic" not in words)
    for word in words:
        assert word in str(caught.value)


def parsed(text: str) -> StructType:
    """Without a Spark session, which the parser of DDL asks for."""
    from pyspark.sql import types as t

    kinds = {
        "string": t.StringType(),
        "int": t.IntegerType(),
        "bigint": t.LongType(),
        "timestamp_ntz": t.TimestampNTZType(),
        "array<string>": t.ArrayType(t.StringType()),
    }
    fields = [part.split() for part in text.split(", ")]
    return StructType([t.StructField(name, kinds[kind]) for name, kind in fields])


def test_frames_that_can_be_written() -> None:
    check_columns(parsed("value string"), True)
    check_columns(parsed("key string, value string, topic string, partition int"), False)
