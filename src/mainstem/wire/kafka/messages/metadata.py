"""Kafka: metadata. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class MetadataRequestTopic(Message):
    topic_id: bytes = ZERO_UUID
    name: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "10+", ignorable=True),
        Field("name", "string", "0+", nullable="10+"),
    )


class MetadataRequest(Message):
    topics: list[MetadataRequestTopic] | None = field(default_factory=list)
    allow_auto_topic_creation: bool = True
    include_cluster_authorized_operations: bool = False
    include_topic_authorized_operations: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topics", "[]struct", "0+", of=MetadataRequestTopic, nullable="1+"),
        Field("allow_auto_topic_creation", "bool", "4+"),
        Field("include_cluster_authorized_operations", "bool", "8-10"),
        Field("include_topic_authorized_operations", "bool", "8+"),
        versions="0-13",
        flexible="9+",
        key=3,
    )


class MetadataResponseBroker(Message):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("node_id", "int32", "0+"),
        Field("host", "string", "0+"),
        Field("port", "int32", "0+"),
        Field("rack", "string", "1+", nullable="1+", ignorable=True),
    )


class MetadataResponsePartition(Message):
    error_code: int = 0
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = -1
    replica_nodes: list[int] = field(default_factory=list)
    isr_nodes: list[int] = field(default_factory=list)
    offline_replicas: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("partition_index", "int32", "0+"),
        Field("leader_id", "int32", "0+"),
        Field("leader_epoch", "int32", "7+", ignorable=True),
        Field("replica_nodes", "[]int32", "0+"),
        Field("isr_nodes", "[]int32", "0+"),
        Field("offline_replicas", "[]int32", "5+", ignorable=True),
    )


class MetadataResponseTopic(Message):
    error_code: int = 0
    name: str | None = ""
    topic_id: bytes = ZERO_UUID
    is_internal: bool = False
    partitions: list[MetadataResponsePartition] = field(default_factory=list)
    topic_authorized_operations: int = -2147483648

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("name", "string", "0+", nullable="12+"),
        Field("topic_id", "uuid", "10+", ignorable=True),
        Field("is_internal", "bool", "1+", ignorable=True),
        Field("partitions", "[]struct", "0+", of=MetadataResponsePartition),
        Field("topic_authorized_operations", "int32", "8+"),
    )


class MetadataResponse(Message):
    throttle_time_ms: int = 0
    brokers: list[MetadataResponseBroker] = field(default_factory=list)
    cluster_id: str | None = None
    controller_id: int = -1
    topics: list[MetadataResponseTopic] = field(default_factory=list)
    cluster_authorized_operations: int = -2147483648
    error_code: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "3+", ignorable=True),
        Field("brokers", "[]struct", "0+", of=MetadataResponseBroker),
        Field("cluster_id", "string", "2+", nullable="2+", ignorable=True),
        Field("controller_id", "int32", "1+", ignorable=True),
        Field("topics", "[]struct", "0+", of=MetadataResponseTopic),
        Field("cluster_authorized_operations", "int32", "8-10"),
        Field("error_code", "int16", "13+", ignorable=True),
        versions="0-13",
        flexible="9+",
        key=3,
    )
