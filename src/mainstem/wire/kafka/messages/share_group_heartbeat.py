"""Kafka: share group heartbeat. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class ShareGroupHeartbeatRequest(Message):
    group_id: str = ""
    member_id: str = ""
    member_epoch: int = 0
    rack_id: str | None = None
    subscribed_topic_names: list[str] | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("member_id", "string", "0+"),
        Field("member_epoch", "int32", "0+"),
        Field("rack_id", "string", "0+", nullable="0+"),
        Field("subscribed_topic_names", "[]string", "0+", nullable="0+"),
        versions="1",
        flexible="0+",
        key=76,
    )


class TopicPartitions(Message):
    topic_id: bytes = ZERO_UUID
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("partitions", "[]int32", "0+"),
    )


class Assignment(Message):
    topic_partitions: list[TopicPartitions] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_partitions", "[]struct", "0+", of=TopicPartitions),
    )


class ShareGroupHeartbeatResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("member_id", "string", "0+", nullable="0+"),
        Field("member_epoch", "int32", "0+"),
        Field("heartbeat_interval_ms", "int32", "0+"),
        Field("assignment", "struct", "0+", of=Assignment, nullable="0+"),
        versions="1",
        flexible="0+",
        key=76,
    )
