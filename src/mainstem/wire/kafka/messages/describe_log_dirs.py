"""Kafka: describe log dirs. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class DescribableLogDirTopic(Message):
    topic: str = ""
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic", "string", "0+"),
        Field("partitions", "[]int32", "0+"),
    )


class DescribeLogDirsRequest(Message):
    topics: list[DescribableLogDirTopic] | None = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topics", "[]struct", "0+", of=DescribableLogDirTopic, nullable="0+"),
        versions="1-5",
        flexible="2+",
        key=35,
    )


class DescribeLogDirsPartition(Message):
    partition_index: int = 0
    partition_size: int = 0
    offset_lag: int = 0
    is_future_key: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("partition_size", "int64", "0+"),
        Field("offset_lag", "int64", "0+"),
        Field("is_future_key", "bool", "0+"),
    )


class DescribeLogDirsTopic(Message):
    name: str = ""
    partitions: list[DescribeLogDirsPartition] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("partitions", "[]struct", "0+", of=DescribeLogDirsPartition),
    )


class DescribeLogDirsResult(Message):
    error_code: int = 0
    log_dir: str = ""
    topics: list[DescribeLogDirsTopic] = field(default_factory=list)
    total_bytes: int = -1
    usable_bytes: int = -1
    is_cordoned: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("log_dir", "string", "0+"),
        Field("topics", "[]struct", "0+", of=DescribeLogDirsTopic),
        Field("total_bytes", "int64", "4+", ignorable=True),
        Field("usable_bytes", "int64", "4+", ignorable=True),
        Field("is_cordoned", "bool", "5+", ignorable=True),
    )


class DescribeLogDirsResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    results: list[DescribeLogDirsResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "3+", ignorable=True),
        Field("results", "[]struct", "0+", of=DescribeLogDirsResult),
        versions="1-5",
        flexible="2+",
        key=35,
    )
