"""Kafka: describe share group offsets. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class DescribeShareGroupOffsetsRequestTopic(Message):
    topic_name: str = ""
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_name", "string", "0+"),
        Field("partitions", "[]int32", "0+"),
    )


class DescribeShareGroupOffsetsRequestGroup(Message):
    group_id: str = ""
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("topics", "[]struct", "0+", of=DescribeShareGroupOffsetsRequestTopic, nullable="0+"),
    )


class DescribeShareGroupOffsetsRequest(Message):
    groups: list[DescribeShareGroupOffsetsRequestGroup] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("groups", "[]struct", "0+", of=DescribeShareGroupOffsetsRequestGroup),
        versions="0-1",
        flexible="0+",
        key=90,
    )


class DescribeShareGroupOffsetsResponsePartition(Message):
    partition_index: int = 0
    start_offset: int = 0
    leader_epoch: int = 0
    lag: int = -1
    error_code: int = 0
    error_message: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("start_offset", "int64", "0+"),
        Field("leader_epoch", "int32", "0+"),
        Field("lag", "int64", "1+", ignorable=True),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
    )


class DescribeShareGroupOffsetsResponseTopic(Message):
    topic_name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_name", "string", "0+"),
        Field("topic_id", "uuid", "0+"),
        Field("partitions", "[]struct", "0+", of=DescribeShareGroupOffsetsResponsePartition),
    )


class DescribeShareGroupOffsetsResponseGroup(Message):
    group_id: str = ""
    topics: list[DescribeShareGroupOffsetsResponseTopic] = field(default_factory=list)
    error_code: int = 0
    error_message: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("topics", "[]struct", "0+", of=DescribeShareGroupOffsetsResponseTopic),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
    )


class DescribeShareGroupOffsetsResponse(Message):
    throttle_time_ms: int = 0
    groups: list[DescribeShareGroupOffsetsResponseGroup] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("groups", "[]struct", "0+", of=DescribeShareGroupOffsetsResponseGroup),
        versions="0-1",
        flexible="0+",
        key=90,
    )
