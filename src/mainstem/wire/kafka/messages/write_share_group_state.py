"""Kafka: write share group state. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class StateBatch(Message):
    first_offset: int = 0
    last_offset: int = 0
    delivery_state: int = 0
    delivery_count: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("first_offset", "int64", "0+"),
        Field("last_offset", "int64", "0+"),
        Field("delivery_state", "int8", "0+"),
        Field("delivery_count", "int16", "0+"),
    )


class PartitionData(Message):
    partition: int = 0
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = -1
    state_batches: list[StateBatch] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition", "int32", "0+"),
        Field("state_epoch", "int32", "0+"),
        Field("leader_epoch", "int32", "0+"),
        Field("start_offset", "int64", "0+"),
        Field("delivery_complete_count", "int32", "1+", ignorable=True),
        Field("state_batches", "[]struct", "0+", of=StateBatch),
    )


class WriteStateData(Message):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("partitions", "[]struct", "0+", of=PartitionData),
    )


class WriteShareGroupStateRequest(Message):
    group_id: str = ""
    topics: list[WriteStateData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("topics", "[]struct", "0+", of=WriteStateData),
        versions="0-1",
        flexible="0+",
        key=85,
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


class WriteStateResult(Message):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("partitions", "[]struct", "0+", of=PartitionResult),
    )


class WriteShareGroupStateResponse(Message):
    results: list[WriteStateResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("results", "[]struct", "0+", of=WriteStateResult),
        versions="0-1",
        flexible="0+",
        key=85,
    )
