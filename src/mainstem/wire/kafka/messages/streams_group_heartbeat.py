"""Kafka: streams group heartbeat. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


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


class CopartitionGroup(Message):
    source_topics: list[int] = field(default_factory=list)
    source_topic_regex: list[int] = field(default_factory=list)
    repartition_source_topics: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("source_topics", "[]int16", "0+"),
        Field("source_topic_regex", "[]int16", "0+"),
        Field("repartition_source_topics", "[]int16", "0+"),
    )


class Subtopology(Message):
    subtopology_id: str = ""
    source_topics: list[str] = field(default_factory=list)
    source_topic_regex: list[str] = field(default_factory=list)
    state_changelog_topics: list[TopicInfo] = field(default_factory=list)
    repartition_sink_topics: list[str] = field(default_factory=list)
    repartition_source_topics: list[TopicInfo] = field(default_factory=list)
    copartition_groups: list[CopartitionGroup] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("subtopology_id", "string", "0+"),
        Field("source_topics", "[]string", "0+"),
        Field("source_topic_regex", "[]string", "0+"),
        Field("state_changelog_topics", "[]struct", "0+", of=TopicInfo),
        Field("repartition_sink_topics", "[]string", "0+"),
        Field("repartition_source_topics", "[]struct", "0+", of=TopicInfo),
        Field("copartition_groups", "[]struct", "0+", of=CopartitionGroup),
    )


class Topology(Message):
    epoch: int = 0
    subtopologies: list[Subtopology] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("epoch", "int32", "0+"),
        Field("subtopologies", "[]struct", "0+", of=Subtopology),
    )


class StreamsGroupHeartbeatRequestTaskIds(Message):
    subtopology_id: str = ""
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("subtopology_id", "string", "0+"),
        Field("partitions", "[]int32", "0+"),
    )


class StreamsGroupHeartbeatRequestEndpoint(Message):
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


class StreamsGroupHeartbeatRequest(Message):
    group_id: str = ""
    member_id: str = ""
    member_epoch: int = 0
    endpoint_information_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: Topology | None = None
    active_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = None
    standby_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = None
    warmup_tasks: list[StreamsGroupHeartbeatRequestTaskIds] | None = None
    process_id: str | None = None
    user_endpoint: StreamsGroupHeartbeatRequestEndpoint | None = None
    client_tags: list[KeyValue] | None = None
    task_offsets: list[TaskOffset] | None = None
    task_end_offsets: list[TaskOffset] | None = None
    shutdown_application: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("member_id", "string", "0+"),
        Field("member_epoch", "int32", "0+"),
        Field("endpoint_information_epoch", "int32", "0+"),
        Field("instance_id", "string", "0+", nullable="0+"),
        Field("rack_id", "string", "0+", nullable="0+"),
        Field("rebalance_timeout_ms", "int32", "0+"),
        Field("topology", "struct", "0+", of=Topology, nullable="0+"),
        Field("active_tasks", "[]struct", "0+", of=StreamsGroupHeartbeatRequestTaskIds, nullable="0+"),
        Field("standby_tasks", "[]struct", "0+", of=StreamsGroupHeartbeatRequestTaskIds, nullable="0+"),
        Field("warmup_tasks", "[]struct", "0+", of=StreamsGroupHeartbeatRequestTaskIds, nullable="0+"),
        Field("process_id", "string", "0+", nullable="0+"),
        Field("user_endpoint", "struct", "0+", of=StreamsGroupHeartbeatRequestEndpoint, nullable="0+"),
        Field("client_tags", "[]struct", "0+", of=KeyValue, nullable="0+"),
        Field("task_offsets", "[]struct", "0+", of=TaskOffset, nullable="0+"),
        Field("task_end_offsets", "[]struct", "0+", of=TaskOffset, nullable="0+"),
        Field("shutdown_application", "bool", "0+"),
        versions="0",
        flexible="0+",
        key=88,
    )


class Status(Message):
    status_code: int = 0
    status_detail: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("status_code", "int8", "0+"),
        Field("status_detail", "string", "0+"),
    )


class StreamsGroupHeartbeatResponseTaskIds(Message):
    subtopology_id: str = ""
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("subtopology_id", "string", "0+"),
        Field("partitions", "[]int32", "0+"),
    )


class StreamsGroupHeartbeatResponseEndpoint(Message):
    host: str = ""
    port: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("host", "string", "0+"),
        Field("port", "uint16", "0+"),
    )


class TopicPartition(Message):
    topic: str = ""
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic", "string", "0+"),
        Field("partitions", "[]int32", "0+"),
    )


class EndpointToPartitions(Message):
    user_endpoint: StreamsGroupHeartbeatResponseEndpoint = field(
        default_factory=StreamsGroupHeartbeatResponseEndpoint
    )
    active_partitions: list[TopicPartition] = field(default_factory=list)
    standby_partitions: list[TopicPartition] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("user_endpoint", "struct", "0+", of=StreamsGroupHeartbeatResponseEndpoint),
        Field("active_partitions", "[]struct", "0+", of=TopicPartition),
        Field("standby_partitions", "[]struct", "0+", of=TopicPartition),
    )


class StreamsGroupHeartbeatResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    member_id: str = ""
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    acceptable_recovery_lag: int = 0
    task_offset_interval_ms: int = 0
    status: list[Status] | None = field(default_factory=list)
    active_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = None
    standby_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = None
    warmup_tasks: list[StreamsGroupHeartbeatResponseTaskIds] | None = None
    endpoint_information_epoch: int = 0
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("member_id", "string", "0+"),
        Field("member_epoch", "int32", "0+"),
        Field("heartbeat_interval_ms", "int32", "0+"),
        Field("acceptable_recovery_lag", "int32", "0+"),
        Field("task_offset_interval_ms", "int32", "0+"),
        Field("status", "[]struct", "0+", of=Status, nullable="0+"),
        Field("active_tasks", "[]struct", "0+", of=StreamsGroupHeartbeatResponseTaskIds, nullable="0+"),
        Field("standby_tasks", "[]struct", "0+", of=StreamsGroupHeartbeatResponseTaskIds, nullable="0+"),
        Field("warmup_tasks", "[]struct", "0+", of=StreamsGroupHeartbeatResponseTaskIds, nullable="0+"),
        Field("endpoint_information_epoch", "int32", "0+"),
        Field("partitions_by_user_endpoint", "[]struct", "0+", of=EndpointToPartitions, nullable="0+"),
        versions="0",
        flexible="0+",
        key=88,
    )
