"""Kafka: delete share group state. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class PartitionData(Message):
    partition: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition", "int32", "0+"),
    )


class DeleteStateData(Message):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("partitions", "[]struct", "0+", of=PartitionData),
    )


class DeleteShareGroupStateRequest(Message):
    group_id: str = ""
    topics: list[DeleteStateData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("topics", "[]struct", "0+", of=DeleteStateData),
        versions="0",
        flexible="0+",
        key=86,
    )


class PartitionResult(Message):
    partition: int = 0
    error_code: int = 0
    error_message: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
    )


class DeleteStateResult(Message):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("partitions", "[]struct", "0+", of=PartitionResult),
    )


class DeleteShareGroupStateResponse(Message):
    results: list[DeleteStateResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("results", "[]struct", "0+", of=DeleteStateResult),
        versions="0",
        flexible="0+",
        key=86,
    )
