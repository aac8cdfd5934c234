"""Kafka: alter share group offsets. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class AlterShareGroupOffsetsRequestPartition(Message):
    partition_index: int = 0
    start_offset: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("start_offset", "int64", "0+"),
    )


class AlterShareGroupOffsetsRequestTopic(Message):
    topic_name: str = ""
    partitions: list[AlterShareGroupOffsetsRequestPartition] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_name", "string", "0+"),
        Field("partitions", "[]struct", "0+", of=AlterShareGroupOffsetsRequestPartition),
    )


class AlterShareGroupOffsetsRequest(Message):
    group_id: str = ""
    topics: list[AlterShareGroupOffsetsRequestTopic] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("topics", "[]struct", "0+", of=AlterShareGroupOffsetsRequestTopic),
        versions="0",
        flexible="0+",
        key=91,
    )


class AlterShareGroupOffsetsResponsePartition(Message):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
    )


class AlterShareGroupOffsetsResponseTopic(Message):
    topic_name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[AlterShareGroupOffsetsResponsePartition] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_name", "string", "0+"),
        Field("topic_id", "uuid", "0+"),
        Field("partitions", "[]struct", "0+", of=AlterShareGroupOffsetsResponsePartition),
    )


class AlterShareGroupOffsetsResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    responses: list[AlterShareGroupOffsetsResponseTopic] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("responses", "[]struct", "0+", of=AlterShareGroupOffsetsResponseTopic),
        versions="0",
        flexible="0+",
        key=91,
    )
