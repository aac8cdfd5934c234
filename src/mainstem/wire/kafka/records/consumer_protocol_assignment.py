"""Kafka: consumer protocol assignment. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class TopicPartition(Message):
    topic: str = ""
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic", "string", "0+"),
        Field("partitions", "[]int32", "0+"),
    )


class ConsumerProtocolAssignment(Message):
    assigned_partitions: list[TopicPartition] = field(default_factory=list)
    user_data: bytes | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("assigned_partitions", "[]struct", "0+", of=TopicPartition),
        Field("user_data", "bytes", "0+", nullable="0+"),
        versions="0-3",
    )
