"""Kafka: describe topic partitions. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class TopicRequest(Message):
    name: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
    )


class DescribeTopicPartitionsRequestCursor(Message):
    topic_name: str = ""
    partition_index: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_name", "string", "0+"),
        Field("partition_index", "int32", "0+"),
    )


class DescribeTopicPartitionsRequest(Message):
    topics: list[TopicRequest] = field(default_factory=list)
    response_partition_limit: int = 2000
    cursor: DescribeTopicPartitionsRequestCursor | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topics", "[]struct", "0+", of=TopicRequest),
        Field("response_partition_limit", "int32", "0+"),
        Field("cursor", "struct", "0+", of=DescribeTopicPartitionsRequestCursor, nullable="0+"),
        versions="0",
        flexible="0+",
        key=75,
    )


class DescribeTopicPartitionsResponsePartition(Message):
    error_code: int = 0
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = -1
    replica_nodes: list[int] = field(default_factory=list)
    isr_nodes: list[int] = field(default_factory=list)
    eligible_leader_replicas: list[int] | None = None
    last_known_elr: list[int] | None = None
    offline_replicas: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("partition_index", "int32", "0+"),
        Field("leader_id", "int32", "0+"),
        Field("leader_epoch", "int32", "0+", ignorable=True),
        Field("replica_nodes", "[]int32", "0+"),
        Field("isr_nodes", "[]int32", "0+"),
        Field("eligible_leader_replicas", "[]int32", "0+", nullable="0+"),
        Field("last_known_elr", "[]int32", "0+", nullable="0+"),
        Field("offline_replicas", "[]int32", "0+", ignorable=True),
    )


class DescribeTopicPartitionsResponseTopic(Message):
    error_code: int = 0
    name: str | None = ""
    topic_id: bytes = ZERO_UUID
    is_internal: bool = False
    partitions: list[DescribeTopicPartitionsResponsePartition] = field(default_factory=list)
    topic_authorized_operations: int = -2147483648

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("name", "string", "0+", nullable="0+"),
        Field("topic_id", "uuid", "0+", ignorable=True),
        Field("is_internal", "bool", "0+", ignorable=True),
        Field("partitions", "[]struct", "0+", of=DescribeTopicPartitionsResponsePartition),
        Field("topic_authorized_operations", "int32", "0+"),
    )


class DescribeTopicPartitionsResponseCursor(Message):
    topic_name: str = ""
    partition_index: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_name", "string", "0+"),
        Field("partition_index", "int32", "0+"),
    )


class DescribeTopicPartitionsResponse(Message):
    throttle_time_ms: int = 0
    topics: list[DescribeTopicPartitionsResponseTopic] = field(default_factory=list)
    next_cursor: DescribeTopicPartitionsResponseCursor | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+", ignorable=True),
        Field("topics", "[]struct", "0+", of=DescribeTopicPartitionsResponseTopic),
        Field("next_cursor", "struct", "0+", of=DescribeTopicPartitionsResponseCursor, nullable="0+"),
        versions="0",
        flexible="0+",
        key=75,
    )
