"""Kafka: list offsets. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class ListOffsetsPartition(Message):
    partition_index: int = 0
    current_leader_epoch: int = -1
    timestamp: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("current_leader_epoch", "int32", "4+", ignorable=True),
        Field("timestamp", "int64", "0+"),
    )


class ListOffsetsTopic(Message):
    name: str = ""
    partitions: list[ListOffsetsPartition] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("partitions", "[]struct", "0+", of=ListOffsetsPartition),
    )


class ListOffsetsRequest(Message):
    replica_id: int = 0
    isolation_level: int = 0
    topics: list[ListOffsetsTopic] = field(default_factory=list)
    timeout_ms: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("replica_id", "int32", "0+"),
        Field("isolation_level", "int8", "2+"),
        Field("topics", "[]struct", "0+", of=ListOffsetsTopic),
        Field("timeout_ms", "int32", "10+", ignorable=True),
        versions="1-11",
        flexible="6+",
        key=2,
    )


class ListOffsetsPartitionResponse(Message):
    partition_index: int = 0
    error_code: int = 0
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("timestamp", "int64", "1+"),
        Field("offset", "int64", "1+"),
        Field("leader_epoch", "int32", "4+"),
    )


class ListOffsetsTopicResponse(Message):
    name: str = ""
    partitions: list[ListOffsetsPartitionResponse] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("partitions", "[]struct", "0+", of=ListOffsetsPartitionResponse),
    )


class ListOffsetsResponse(Message):
    throttle_time_ms: int = 0
    topics: list[ListOffsetsTopicResponse] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "2+", ignorable=True),
        Field("topics", "[]struct", "0+", of=ListOffsetsTopicResponse),
        versions="1-11",
        flexible="6+",
        key=2,
    )
