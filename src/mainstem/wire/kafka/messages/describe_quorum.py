"""Kafka: describe quorum. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class DescribeQuorumRequestPartitionData(Message):
    partition_index: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
    )


class DescribeQuorumRequestTopicData(Message):
    topic_name: str = ""
    partitions: list[DescribeQuorumRequestPartitionData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_name", "string", "0+"),
        Field("partitions", "[]struct", "0+", of=DescribeQuorumRequestPartitionData),
    )


class DescribeQuorumRequest(Message):
    topics: list[DescribeQuorumRequestTopicData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topics", "[]struct", "0+", of=DescribeQuorumRequestTopicData),
        versions="0-2",
        flexible="0+",
        key=55,
    )


class ReplicaState(Message):
    replica_id: int = 0
    replica_directory_id: bytes = ZERO_UUID
    log_end_offset: int = 0
    last_fetch_timestamp: int = -1
    last_caught_up_timestamp: int = -1

    SCHEMA: ClassVar[Schema] = Schema(
        Field("replica_id", "int32", "0+"),
        Field("replica_directory_id", "uuid", "2+"),
        Field("log_end_offset", "int64", "0+"),
        Field("last_fetch_timestamp", "int64", "1+", ignorable=True),
        Field("last_caught_up_timestamp", "int64", "1+", ignorable=True),
    )


class DescribeQuorumResponsePartitionData(Message):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = ""
    leader_id: int = 0
    leader_epoch: int = 0
    high_watermark: int = 0
    current_voters: list[ReplicaState] = field(default_factory=list)
    observers: list[ReplicaState] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "2+", nullable="2+", ignorable=True),
        Field("leader_id", "int32", "0+"),
        Field("leader_epoch", "int32", "0+"),
        Field("high_watermark", "int64", "0+"),
        Field("current_voters", "[]struct", "0+", of=ReplicaState),
        Field("observers", "[]struct", "0+", of=ReplicaState),
    )


class DescribeQuorumResponseTopicData(Message):
    topic_name: str = ""
    partitions: list[DescribeQuorumResponsePartitionData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_name", "string", "0+"),
        Field("partitions", "[]struct", "0+", of=DescribeQuorumResponsePartitionData),
    )


class Listener(Message):
    name: str = ""
    host: str = ""
    port: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "2+"),
        Field("host", "string", "2+"),
        Field("port", "uint16", "2+"),
    )


class Node(Message):
    node_id: int = 0
    listeners: list[Listener] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("node_id", "int32", "2+"),
        Field("listeners", "[]struct", "2+", of=Listener),
    )


class DescribeQuorumResponse(Message):
    error_code: int = 0
    error_message: str | None = ""
    topics: list[DescribeQuorumResponseTopicData] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "2+", nullable="2+", ignorable=True),
        Field("topics", "[]struct", "0+", of=DescribeQuorumResponseTopicData),
        Field("nodes", "[]struct", "2+", of=Node),
        versions="0-2",
        flexible="0+",
        key=55,
    )
