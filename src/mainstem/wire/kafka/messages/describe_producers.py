"""Kafka: describe producers. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class TopicRequest(Message):
    name: str = ""
    partition_indexes: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("partition_indexes", "[]int32", "0+"),
    )


class DescribeProducersRequest(Message):
    topics: list[TopicRequest] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topics", "[]struct", "0+", of=TopicRequest),
        versions="0",
        flexible="0+",
        key=61,
    )


class ProducerState(Message):
    producer_id: int = 0
    producer_epoch: int = 0
    last_sequence: int = -1
    last_timestamp: int = -1
    coordinator_epoch: int = 0
    current_txn_start_offset: int = -1

    SCHEMA: ClassVar[Schema] = Schema(
        Field("producer_id", "int64", "0+"),
        Field("producer_epoch", "int32", "0+"),
        Field("last_sequence", "int32", "0+"),
        Field("last_timestamp", "int64", "0+"),
        Field("coordinator_epoch", "int32", "0+"),
        Field("current_txn_start_offset", "int64", "0+"),
    )


class PartitionResponse(Message):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    active_producers: list[ProducerState] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("active_producers", "[]struct", "0+", of=ProducerState),
    )


class TopicResponse(Message):
    name: str = ""
    partitions: list[PartitionResponse] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("partitions", "[]struct", "0+", of=PartitionResponse),
    )


class DescribeProducersResponse(Message):
    throttle_time_ms: int = 0
    topics: list[TopicResponse] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("topics", "[]struct", "0+", of=TopicResponse),
        versions="0",
        flexible="0+",
        key=61,
    )
