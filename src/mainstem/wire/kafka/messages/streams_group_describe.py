"""Kafka: streams group describe. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class StreamsGroupDescribeRequest(Message):
    group_ids: list[str] = field(default_factory=list)
    include_authorized_operations: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_ids", "[]string", "0+"),
        Field("include_authorized_operations", "bool", "0+"),
        versions="0",
        flexible="0+",
        key=89,
    )


class KeyValue(Message):
    key: str = ""
    value: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("key", "string", "0+"),
        Field("value", "string", "0+"),
    )


class TopicInfo(Message):
    name: str = ""
    partitions: int = 0
    replication_factor: int = 0
    topic_configs: list[KeyValue] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("partitions", "int32", "0+"),
        Field("replication_factor", "int16", "0+"),
        Field("topic_configs", "[]struct", "0+", of=KeyValue),
    )


class Subtopology(Message):
    subtopology_id: str = ""
    source_topics: list[str] = field(default_factory=list)
    repartition_sink_topics: list[str] = field(default_factory=list)
    state_changelog_topics: list[TopicInfo] = field(default_factory=list)
    repartition_source_topics: list[TopicInfo] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("subtopology_id", "string", "0+"),
        Field("source_topics", "[]string", "0+"),
        Field("repartition_sink_topics", "[]string", "0+"),
        Field("state_changelog_topics", "[]struct", "0+", of=TopicInfo),
        Field("repartition_source_topics", "[]struct", "0+", of=TopicInfo),
    )


class Topology(Message):
    epoch: int = 0
    subtopologies: list[Subtopology] | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("epoch", "int32", "0+"),
        Field("subtopologies", "[]struct", "0+", of=Subtopology, nullable="0+"),
    )


class Endpoint(Message):
    host: str = ""
    port: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("host", "string", "0+"),
        Field("port", "uint16", "0+"),
    )


class TaskOffset(Message):
    subtopology_id: str = ""
    partition: int = 0
    offset: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("subtopology_id", "string", "0+"),
        Field("partition", "int32", "0+"),
        Field("offset", "int64", "0+"),
    )


class TaskIds(Message):
    subtopology_id: str = ""
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("subtopology_id", "string", "0+"),
        Field("partitions", "[]int32", "0+"),
    )


class Assignment(Message):
    active_tasks: list[TaskIds] = field(default_factory=list)
    standby_tasks: list[TaskIds] = field(default_factory=list)
    warmup_tasks: list[TaskIds] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("active_tasks", "[]struct", "0+", of=TaskIds),
        Field("standby_tasks", "[]struct", "0+", of=TaskIds),
        Field("warmup_tasks", "[]struct", "0+", of=TaskIds),
    )


class Member(Message):
    member_id: str = ""
    member_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topology_epoch: int = 0
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] = field(default_factory=list)
    task_offsets: list[TaskOffset] = field(default_factory=list)
    task_end_offsets: list[TaskOffset] = field(default_factory=list)
    assignment: Assignment = field(default_factory=Assignment)
    target_assignment: Assignment = field(default_factory=Assignment)
    is_classic: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("member_id", "string", "0+"),
        Field("member_epoch", "int32", "0+"),
        Field("instance_id", "string", "0+", nullable="0+"),
        Field("rack_id", "string", "0+", nullable="0+"),
        Field("client_id", "string", "0+"),
        Field("client_host", "string", "0+"),
        Field("topology_epoch", "int32", "0+"),
        Field("process_id", "string", "0+"),
        Field("user_endpoint", "struct", "0+", of=Endpoint, nullable="0+"),
        Field("client_tags", "[]struct", "0+", of=KeyValue),
        Field("task_offsets", "[]struct", "0+", of=TaskOffset),
        Field("task_end_offsets", "[]struct", "0+", of=TaskOffset),
        Field("assignment", "struct", "0+", of=Assignment),
        Field("target_assignment", "struct", "0+", of=Assignment),
        Field("is_classic", "bool", "0+"),
    )


class DescribedGroup(Message):
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    topology: Topology | None = None
    members: list[Member] = field(default_factory=list)
    authorized_operations: int = -2147483648

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("group_id", "string", "0+"),
        Field("group_state", "string", "0+"),
        Field("group_epoch", "int32", "0+"),
        Field("assignment_epoch", "int32", "0+"),
        Field("topology", "struct", "0+", of=Topology, nullable="0+"),
        Field("members", "[]struct", "0+", of=Member),
        Field("authorized_operations", "int32", "0+"),
    )


class StreamsGroupDescribeResponse(Message):
    throttle_time_ms: int = 0
    groups: list[DescribedGroup] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("groups", "[]struct", "0+", of=DescribedGroup),
        versions="0",
        flexible="0+",
        key=89,
    )
