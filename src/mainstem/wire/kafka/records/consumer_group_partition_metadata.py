"""Kafka: consumer group partition metadata. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class ConsumerGroupPartitionMetadataKey(Message):
    group_id: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0"),
        versions="0",
        key=4,
    )


class PartitionMetadata(Message):
    partition: int = 0
    racks: list[str] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition", "int32", "0+"),
        Field("racks", "[]string", "0+"),
    )


class TopicMetadata(Message):
    topic_id: bytes = ZERO_UUID
    topic_name: str = ""
    num_partitions: int = 0
    partition_metadata: list[PartitionMetadata] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("topic_name", "string", "0+"),
        Field("num_partitions", "int32", "0+"),
        Field("partition_metadata", "[]struct", "0+", of=PartitionMetadata),
    )


class ConsumerGroupPartitionMetadataValue(Message):
    topics: list[TopicMetadata] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topics", "[]struct", "0+", of=TopicMetadata),
        versions="0",
        flexible="0+",
        key=4,
    )
