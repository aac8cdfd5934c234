"""Kafka: offset delete. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class OffsetDeleteRequestPartition(Message):
    partition_index: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
    )


class OffsetDeleteRequestTopic(Message):
    name: str = ""
    partitions: list[OffsetDeleteRequestPartition] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("partitions", "[]struct", "0+", of=OffsetDeleteRequestPartition),
    )


class OffsetDeleteRequest(Message):
    group_id: str = ""
    topics: list[OffsetDeleteRequestTopic] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("topics", "[]struct", "0+", of=OffsetDeleteRequestTopic),
        versions="0",
        key=47,
    )


class OffsetDeleteResponsePartition(Message):
    partition_index: int = 0
    error_code: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
    )


class OffsetDeleteResponseTopic(Message):
    name: str = ""
    partitions: list[OffsetDeleteResponsePartition] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("partitions", "[]struct", "0+", of=OffsetDeleteResponsePartition),
    )


class OffsetDeleteResponse(Message):
    error_code: int = 0
    throttle_time_ms: int = 0
    topics: list[OffsetDeleteResponseTopic] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("throttle_time_ms", "int32", "0+", ignorable=True),
        Field("topics", "[]struct", "0+", of=OffsetDeleteResponseTopic),
        versions="0",
        key=47,
    )
