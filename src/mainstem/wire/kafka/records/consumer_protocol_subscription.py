"""Kafka: consumer protocol subscription. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class TopicPartition(Message):
    topic: str = ""
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic", "string", "1+"),
        Field("partitions", "[]int32", "1+"),
    )


class ConsumerProtocolSubscription(Message):
    topics: list[str] = field(default_factory=list)
    user_data: bytes | None = None
    owned_partitions: list[TopicPartition] = field(default_factory=list)
    generation_id: int = -1
    rack_id: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topics", "[]string", "0+"),
        Field("user_data", "bytes", "0+", nullable="0+"),
        Field("owned_partitions", "[]struct", "1+", of=TopicPartition, ignorable=True),
        Field("generation_id", "int32", "2+", ignorable=True),
        Field("rack_id", "string", "3+", nullable="3+", ignorable=True),
        versions="0-3",
    )
