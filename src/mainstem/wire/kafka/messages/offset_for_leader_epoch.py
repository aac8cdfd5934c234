"""Kafka: offset for leader epoch. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class OffsetForLeaderPartition(Message):
    partition: int = 0
    current_leader_epoch: int = -1
    leader_epoch: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition", "int32", "0+"),
        Field("current_leader_epoch", "int32", "2+", ignorable=True),
        Field("leader_epoch", "int32", "0+"),
    )


class OffsetForLeaderTopic(Message):
    topic: str = ""
    partitions: list[OffsetForLeaderPartition] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic", "string", "0+"),
        Field("partitions", "[]struct", "0+", of=OffsetForLeaderPartition),
    )


class OffsetForLeaderEpochRequest(Message):
    replica_id: int = -2
    topics: list[OffsetForLeaderTopic] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("replica_id", "int32", "3+", ignorable=True),
        Field("topics", "[]struct", "0+", of=OffsetForLeaderTopic),
        versions="2-4",
        flexible="4+",
        key=23,
    )


class EpochEndOffset(Message):
    error_code: int = 0
    partition: int = 0
    leader_epoch: int = -1
    end_offset: int = -1

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("partition", "int32", "0+"),
        Field("leader_epoch", "int32", "1+", ignorable=True),
        Field("end_offset", "int64", "0+"),
    )


class OffsetForLeaderTopicResult(Message):
    topic: str = ""
    partitions: list[EpochEndOffset] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic", "string", "0+"),
        Field("partitions", "[]struct", "0+", of=EpochEndOffset),
    )


class OffsetForLeaderEpochResponse(Message):
    throttle_time_ms: int = 0
    topics: list[OffsetForLeaderTopicResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "2+", ignorable=True),
        Field("topics", "[]struct", "0+", of=OffsetForLeaderTopicResult),
        versions="2-4",
        flexible="4+",
        key=23,
    )
