"""Kafka: create topics. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class CreatableReplicaAssignment(Message):
    partition_index: int = 0
    broker_ids: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("broker_ids", "[]int32", "0+"),
    )


class CreatableTopicConfig(Message):
    name: str = ""
    value: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("value", "string", "0+", nullable="0+"),
    )


class CreatableTopic(Message):
    name: str = ""
    num_partitions: int = 0
    replication_factor: int = 0
    assignments: list[CreatableReplicaAssignment] = field(default_factory=list)
    configs: list[CreatableTopicConfig] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("num_partitions", "int32", "0+"),
        Field("replication_factor", "int16", "0+"),
        Field("assignments", "[]struct", "0+", of=CreatableReplicaAssignment),
        Field("configs", "[]struct", "0+", of=CreatableTopicConfig),
    )


class CreateTopicsRequest(Message):
    topics: list[CreatableTopic] = field(default_factory=list)
    timeout_ms: int = 60000
    validate_only: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topics", "[]struct", "0+", of=CreatableTopic),
        Field("timeout_ms", "int32", "0+"),
        Field("validate_only", "bool", "1+"),
        versions="2-7",
        flexible="5+",
        key=19,
    )


class CreatableTopicConfigs(Message):
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: int = -1
    is_sensitive: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "5+"),
        Field("value", "string", "5+", nullable="5+"),
        Field("read_only", "bool", "5+"),
        Field("config_source", "int8", "5+", ignorable=True),
        Field("is_sensitive", "bool", "5+"),
    )


class CreatableTopicResult(Message):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    error_code: int = 0
    error_message: str | None = ""
    topic_config_error_code: int = 0
    num_partitions: int = -1
    replication_factor: int = -1
    configs: list[CreatableTopicConfigs] | None = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("topic_id", "uuid", "7+", ignorable=True),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "1+", nullable="0+", ignorable=True),
        Field("topic_config_error_code", "int16", "5+", tag=0, tagged="5+", ignorable=True),
        Field("num_partitions", "int32", "5+", ignorable=True),
        Field("replication_factor", "int16", "5+", ignorable=True),
        Field("configs", "[]struct", "5+", of=CreatableTopicConfigs, nullable="5+", ignorable=True),
    )


class CreateTopicsResponse(Message):
    throttle_time_ms: int = 0
    topics: list[CreatableTopicResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "2+", ignorable=True),
        Field("topics", "[]struct", "0+", of=CreatableTopicResult),
        versions="2-7",
        flexible="5+",
        key=19,
    )
