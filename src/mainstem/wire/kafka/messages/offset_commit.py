"""Kafka: offset commit. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class OffsetCommitRequestPartition(Message):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    committed_metadata: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("committed_offset", "int64", "0+"),
        Field("committed_leader_epoch", "int32", "6+", ignorable=True),
        Field("committed_metadata", "string", "0+", nullable="0+"),
    )


class OffsetCommitRequestTopic(Message):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[OffsetCommitRequestPartition] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0-9", ignorable=True),
        Field("topic_id", "uuid", "10+", ignorable=True),
        Field("partitions", "[]struct", "0+", of=OffsetCommitRequestPartition),
    )


class OffsetCommitRequest(Message):
    group_id: str = ""
    generation_id_or_member_epoch: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    retention_time_ms: int = -1
    topics: list[OffsetCommitRequestTopic] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("generation_id_or_member_epoch", "int32", "1+", ignorable=True),
        Field("member_id", "string", "1+", ignorable=True),
        Field("group_instance_id", "string", "7+", nullable="7+"),
        Field("retention_time_ms", "int64", "2-4", ignorable=True),
        Field("topics", "[]struct", "0+", of=OffsetCommitRequestTopic),
        versions="2-10",
        flexible="8+",
        key=8,
    )


class OffsetCommitResponsePartition(Message):
    partition_index: int = 0
    error_code: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
    )


class OffsetCommitResponseTopic(Message):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[OffsetCommitResponsePartition] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0-9", ignorable=True),
        Field("topic_id", "uuid", "10+", ignorable=True),
        Field("partitions", "[]struct", "0+", of=OffsetCommitResponsePartition),
    )


class OffsetCommitResponse(Message):
    throttle_time_ms: int = 0
    topics: list[OffsetCommitResponseTopic] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "3+", ignorable=True),
        Field("topics", "[]struct", "0+", of=OffsetCommitResponseTopic),
        versions="2-10",
        flexible="8+",
        key=8,
    )
