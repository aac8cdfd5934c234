"""Kafka: alter replica log dirs. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class AlterReplicaLogDirTopic(Message):
    name: str = ""
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("partitions", "[]int32", "0+"),
    )


class AlterReplicaLogDir(Message):
    path: str = ""
    topics: list[AlterReplicaLogDirTopic] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("path", "string", "0+"),
        Field("topics", "[]struct", "0+", of=AlterReplicaLogDirTopic),
    )


class AlterReplicaLogDirsRequest(Message):
    dirs: list[AlterReplicaLogDir] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("dirs", "[]struct", "0+", of=AlterReplicaLogDir),
        versions="1-2",
        flexible="2+",
        key=34,
    )


class AlterReplicaLogDirPartitionResult(Message):
    partition_index: int = 0
    error_code: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
    )


class AlterReplicaLogDirTopicResult(Message):
    topic_name: str = ""
    partitions: list[AlterReplicaLogDirPartitionResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_name", "string", "0+"),
        Field("partitions", "[]struct", "0+", of=AlterReplicaLogDirPartitionResult),
    )


class AlterReplicaLogDirsResponse(Message):
    throttle_time_ms: int = 0
    results: list[AlterReplicaLogDirTopicResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("results", "[]struct", "0+", of=AlterReplicaLogDirTopicResult),
        versions="1-2",
        flexible="2+",
        key=34,
    )
