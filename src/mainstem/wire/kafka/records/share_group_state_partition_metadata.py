"""Kafka: share group state partition metadata. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class ShareGroupStatePartitionMetadataKey(Message):
    group_id: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0"),
        versions="0",
        key=15,
    )


class TopicPartitionsInfo(Message):
    topic_id: bytes = ZERO_UUID
    topic_name: str = ""
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("topic_name", "string", "0+"),
        Field("partitions", "[]int32", "0+"),
    )


class TopicInfo(Message):
    topic_id: bytes = ZERO_UUID
    topic_name: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("topic_name", "string", "0+"),
    )


class ShareGroupStatePartitionMetadataValue(Message):
    initializing_topics: list[TopicPartitionsInfo] = field(default_factory=list)
    initialized_topics: list[TopicPartitionsInfo] = field(default_factory=list)
    deleting_topics: list[TopicInfo] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("initializing_topics", "[]struct", "0+", of=TopicPartitionsInfo),
        Field("initialized_topics", "[]struct", "0+", of=TopicPartitionsInfo),
        Field("deleting_topics", "[]struct", "0+", of=TopicInfo),
        versions="0",
        flexible="0+",
        key=15,
    )
