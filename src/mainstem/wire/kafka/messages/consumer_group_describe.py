"""Kafka: consumer group describe. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class ConsumerGroupDescribeRequest(Message):
    group_ids: list[str] = field(default_factory=list)
    include_authorized_operations: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_ids", "[]string", "0+"),
        Field("include_authorized_operations", "bool", "0+"),
        versions="0-1",
        flexible="0+",
        key=69,
    )


class TopicPartitions(Message):
    topic_id: bytes = ZERO_UUID
    topic_name: str = ""
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("topic_name", "string", "0+"),
        Field("partitions", "[]int32", "0+"),
    )


class Assignment(Message):
    topic_partitions: list[TopicPartitions] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_partitions", "[]struct", "0+", of=TopicPartitions),
    )


class Member(Message):
    member_id: str = ""
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: int = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = field(default_factory=list)
    subscribed_topic_regex: str | None = None
    assignment: Assignment = field(default_factory=Assignment)
    target_assignment: Assignment = field(default_factory=Assignment)
    member_type: int = -1

    SCHEMA: ClassVar[Schema] = Schema(
        Field("member_id", "string", "0+"),
        Field("instance_id", "string", "0+", nullable="0+"),
        Field("rack_id", "string", "0+", nullable="0+"),
        Field("member_epoch", "int32", "0+"),
        Field("client_id", "string", "0+"),
        Field("client_host", "string", "0+"),
        Field("subscribed_topic_names", "[]string", "0+"),
        Field("subscribed_topic_regex", "string", "0+", nullable="0+"),
        Field("assignment", "struct", "0+", of=Assignment),
        Field("target_assignment", "struct", "0+", of=Assignment),
        Field("member_type", "int8", "1+", ignorable=True),
    )


class DescribedGroup(Message):
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: list[Member] = field(default_factory=list)
    authorized_operations: int = -2147483648

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("group_id", "string", "0+"),
        Field("group_state", "string", "0+"),
        Field("group_epoch", "int32", "0+"),
        Field("assignment_epoch", "int32", "0+"),
        Field("assignor_name", "string", "0+"),
        Field("members", "[]struct", "0+", of=Member),
        Field("authorized_operations", "int32", "0+"),
    )


class ConsumerGroupDescribeResponse(Message):
    throttle_time_ms: int = 0
    groups: list[DescribedGroup] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("groups", "[]struct", "0+", of=DescribedGroup),
        versions="0-1",
        flexible="0+",
        key=69,
    )
