"""Kafka: delete records. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class DeleteRecordsPartition(Message):
    partition_index: int = 0
    offset: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("offset", "int64", "0+"),
    )


class DeleteRecordsTopic(Message):
    name: str = ""
    partitions: list[DeleteRecordsPartition] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("partitions", "[]struct", "0+", of=DeleteRecordsPartition),
    )


class DeleteRecordsRequest(Message):
    topics: list[DeleteRecordsTopic] = field(default_factory=list)
    timeout_ms: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topics", "[]struct", "0+", of=DeleteRecordsTopic),
        Field("timeout_ms", "int32", "0+"),
        versions="0-2",
        flexible="2+",
        key=21,
    )


class DeleteRecordsPartitionResult(Message):
    partition_index: int = 0
    low_watermark: int = 0
    error_code: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("low_watermark", "int64", "0+"),
        Field("error_code", "int16", "0+"),
    )


class DeleteRecordsTopicResult(Message):
    name: str = ""
    partitions: list[DeleteRecordsPartitionResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("partitions", "[]struct", "0+", of=DeleteRecordsPartitionResult),
    )


class DeleteRecordsResponse(Message):
    throttle_time_ms: int = 0
    topics: list[DeleteRecordsTopicResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("topics", "[]struct", "0+", of=DeleteRecordsTopicResult),
        versions="0-2",
        flexible="2+",
        key=21,
    )
