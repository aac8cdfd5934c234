"""Kafka: initialize share group state. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class PartitionData(Message):
    partition: int = 0
    state_epoch: int = 0
    start_offset: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition", "int32", "0+"),
        Field("state_epoch", "int32", "0+"),
        Field("start_offset", "int64", "0+"),
    )


class InitializeStateData(Message):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("partitions", "[]struct", "0+", of=PartitionData),
    )


class InitializeShareGroupStateRequest(Message):
    group_id: str = ""
    topics: list[InitializeStateData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("topics", "[]struct", "0+", of=InitializeStateData),
        versions="0",
        flexible="0+",
        key=83,
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


class InitializeStateResult(Message):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("partitions", "[]struct", "0+", of=PartitionResult),
    )


class InitializeShareGroupStateResponse(Message):
    results: list[InitializeStateResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("results", "[]struct", "0+", of=InitializeStateResult),
        versions="0",
        flexible="0+",
        key=83,
    )
