"""Kafka: create partitions. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class CreatePartitionsAssignment(Message):
    broker_ids: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("broker_ids", "[]int32", "0+"),
    )


class CreatePartitionsTopic(Message):
    name: str = ""
    count: int = 0
    assignments: list[CreatePartitionsAssignment] | None = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("count", "int32", "0+"),
        Field("assignments", "[]struct", "0+", of=CreatePartitionsAssignment, nullable="0+"),
    )


class CreatePartitionsRequest(Message):
    topics: list[CreatePartitionsTopic] = field(default_factory=list)
    timeout_ms: int = 0
    validate_only: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topics", "[]struct", "0+", of=CreatePartitionsTopic),
        Field("timeout_ms", "int32", "0+"),
        Field("validate_only", "bool", "0+"),
        versions="0-3",
        flexible="2+",
        key=37,
    )


class CreatePartitionsTopicResult(Message):
    name: str = ""
    error_code: int = 0
    error_message: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
    )


class CreatePartitionsResponse(Message):
    throttle_time_ms: int = 0
    results: list[CreatePartitionsTopicResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("results", "[]struct", "0+", of=CreatePartitionsTopicResult),
        versions="0-3",
        flexible="2+",
        key=37,
    )
