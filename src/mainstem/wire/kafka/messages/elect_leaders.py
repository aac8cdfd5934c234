"""Kafka: elect leaders. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class TopicPartitions(Message):
    topic: str = ""
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic", "string", "0+"),
        Field("partitions", "[]int32", "0+"),
    )


class ElectLeadersRequest(Message):
    election_type: int = 0
    topic_partitions: list[TopicPartitions] | None = field(default_factory=list)
    timeout_ms: int = 60000

    SCHEMA: ClassVar[Schema] = Schema(
        Field("election_type", "int8", "1+"),
        Field("topic_partitions", "[]struct", "0+", of=TopicPartitions, nullable="0+"),
        Field("timeout_ms", "int32", "0+"),
        versions="0-2",
        flexible="2+",
        key=43,
    )


class PartitionResult(Message):
    partition_id: int = 0
    error_code: int = 0
    error_message: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_id", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
    )


class ReplicaElectionResult(Message):
    topic: str = ""
    partition_result: list[PartitionResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic", "string", "0+"),
        Field("partition_result", "[]struct", "0+", of=PartitionResult),
    )


class ElectLeadersResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    replica_election_results: list[ReplicaElectionResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "1+"),
        Field("replica_election_results", "[]struct", "0+", of=ReplicaElectionResult),
        versions="0-2",
        flexible="2+",
        key=43,
    )
