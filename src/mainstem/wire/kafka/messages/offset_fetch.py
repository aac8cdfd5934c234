"""Kafka: offset fetch. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class OffsetFetchRequestTopic(Message):
    name: str = ""
    partition_indexes: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0-7"),
        Field("partition_indexes", "[]int32", "0-7"),
    )


class OffsetFetchRequestTopics(Message):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partition_indexes: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "8-9", ignorable=True),
        Field("topic_id", "uuid", "10+", ignorable=True),
        Field("partition_indexes", "[]int32", "8+"),
    )


class OffsetFetchRequestGroup(Message):
    group_id: str = ""
    member_id: str | None = None
    member_epoch: int = -1
    topics: list[OffsetFetchRequestTopics] | None = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "8+"),
        Field("member_id", "string", "9+", nullable="9+", ignorable=True),
        Field("member_epoch", "int32", "9+", ignorable=True),
        Field("topics", "[]struct", "8+", of=OffsetFetchRequestTopics, nullable="8+"),
    )


class OffsetFetchRequest(Message):
    group_id: str = ""
    topics: list[OffsetFetchRequestTopic] | None = field(default_factory=list)
    groups: list[OffsetFetchRequestGroup] = field(default_factory=list)
    require_stable: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0-7"),
        Field("topics", "[]struct", "0-7", of=OffsetFetchRequestTopic, nullable="2-7"),
        Field("groups", "[]struct", "8+", of=OffsetFetchRequestGroup),
        Field("require_stable", "bool", "7+"),
        versions="1-10",
        flexible="6+",
        key=9,
    )


class OffsetFetchResponsePartition(Message):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    metadata: str | None = ""
    error_code: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0-7"),
        Field("committed_offset", "int64", "0-7"),
        Field("committed_leader_epoch", "int32", "5-7", ignorable=True),
        Field("metadata", "string", "0-7", nullable="0-7"),
        Field("error_code", "int16", "0-7"),
    )


class OffsetFetchResponseTopic(Message):
    name: str = ""
    partitions: list[OffsetFetchResponsePartition] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0-7"),
        Field("partitions", "[]struct", "0-7", of=OffsetFetchResponsePartition),
    )


class OffsetFetchResponsePartitions(Message):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    metadata: str | None = ""
    error_code: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "8+"),
        Field("committed_offset", "int64", "8+"),
        Field("committed_leader_epoch", "int32", "8+", ignorable=True),
        Field("metadata", "string", "8+", nullable="8+"),
        Field("error_code", "int16", "8+"),
    )


class OffsetFetchResponseTopics(Message):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[OffsetFetchResponsePartitions] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "8-9", ignorable=True),
        Field("topic_id", "uuid", "10+", ignorable=True),
        Field("partitions", "[]struct", "8+", of=OffsetFetchResponsePartitions),
    )


class OffsetFetchResponseGroup(Message):
    group_id: str = ""
    topics: list[OffsetFetchResponseTopics] = field(default_factory=list)
    error_code: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "8+"),
        Field("topics", "[]struct", "8+", of=OffsetFetchResponseTopics),
        Field("error_code", "int16", "8+"),
    )


class OffsetFetchResponse(Message):
    throttle_time_ms: int = 0
    topics: list[OffsetFetchResponseTopic] = field(default_factory=list)
    error_code: int = 0
    groups: list[OffsetFetchResponseGroup] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "3+", ignorable=True),
        Field("topics", "[]struct", "0-7", of=OffsetFetchResponseTopic),
        Field("error_code", "int16", "2-7", ignorable=True),
        Field("groups", "[]struct", "8+", of=OffsetFetchResponseGroup),
        versions="1-10",
        flexible="6+",
        key=9,
    )
