"""Kafka: read share group state summary. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class PartitionData(Message):
    partition: int = 0
    leader_epoch: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition", "int32", "0+"),
        Field("leader_epoch", "int32", "0+"),
    )


class ReadStateSummaryData(Message):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("partitions", "[]struct", "0+", of=PartitionData),
    )


class ReadShareGroupStateSummaryRequest(Message):
    group_id: str = ""
    topics: list[ReadStateSummaryData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("topics", "[]struct", "0+", of=ReadStateSummaryData),
        versions="0-1",
        flexible="0+",
        key=87,
    )


class PartitionResult(Message):
    partition: int = 0
    error_code: int = 0
    error_message: str | None = None
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = -1

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("state_epoch", "int32", "0+"),
        Field("leader_epoch", "int32", "0+"),
        Field("start_offset", "int64", "0+"),
        Field("delivery_complete_count", "int32", "1+", ignorable=True),
    )


class ReadStateSummaryResult(Message):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("partitions", "[]struct", "0+", of=PartitionResult),
    )


class ReadShareGroupStateSummaryResponse(Message):
    results: list[ReadStateSummaryResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("results", "[]struct", "0+", of=ReadStateSummaryResult),
        versions="0-1",
        flexible="0+",
        key=87,
    )
