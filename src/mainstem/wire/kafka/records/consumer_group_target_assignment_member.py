"""Kafka: consumer group target assignment member. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class ConsumerGroupTargetAssignmentMemberKey(Message):
    group_id: str = ""
    member_id: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0"),
        Field("member_id", "string", "0"),
        versions="0",
        key=7,
    )


class TopicPartition(Message):
    topic_id: bytes = ZERO_UUID
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("partitions", "[]int32", "0+"),
    )


class ConsumerGroupTargetAssignmentMemberValue(Message):
    topic_partitions: list[TopicPartition] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_partitions", "[]struct", "0+", of=TopicPartition),
        versions="0",
        flexible="0+",
        key=7,
    )
