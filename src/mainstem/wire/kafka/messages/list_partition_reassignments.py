"""Kafka: list partition reassignments. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class ListPartitionReassignmentsTopics(Message):
    name: str = ""
    partition_indexes: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("partition_indexes", "[]int32", "0+"),
    )


class ListPartitionReassignmentsRequest(Message):
    timeout_ms: int = 60000
    topics: list[ListPartitionReassignmentsTopics] | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("timeout_ms", "int32", "0+"),
        Field("topics", "[]struct", "0+", of=ListPartitionReassignmentsTopics, nullable="0+"),
        versions="0",
        flexible="0+",
        key=46,
    )


class OngoingPartitionReassignment(Message):
    partition_index: int = 0
    replicas: list[int] = field(default_factory=list)
    adding_replicas: list[int] = field(default_factory=list)
    removing_replicas: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("replicas", "[]int32", "0+"),
        Field("adding_replicas", "[]int32", "0+"),
        Field("removing_replicas", "[]int32", "0+"),
    )


class OngoingTopicReassignment(Message):
    name: str = ""
    partitions: list[OngoingPartitionReassignment] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("partitions", "[]struct", "0+", of=OngoingPartitionReassignment),
    )


class ListPartitionReassignmentsResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    topics: list[OngoingTopicReassignment] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("topics", "[]struct", "0+", of=OngoingTopicReassignment),
        versions="0",
        flexible="0+",
        key=46,
    )
