"""Kafka: share acknowledge. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class AcknowledgementBatch(Message):
    first_offset: int = 0
    last_offset: int = 0
    acknowledge_types: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("first_offset", "int64", "0+"),
        Field("last_offset", "int64", "0+"),
        Field("acknowledge_types", "[]int8", "0+"),
    )


class AcknowledgePartition(Message):
    partition_index: int = 0
    acknowledgement_batches: list[AcknowledgementBatch] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("acknowledgement_batches", "[]struct", "0+", of=AcknowledgementBatch),
    )


class AcknowledgeTopic(Message):
    topic_id: bytes = ZERO_UUID
    partitions: list[AcknowledgePartition] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("partitions", "[]struct", "0+", of=AcknowledgePartition),
    )


class ShareAcknowledgeRequest(Message):
    group_id: str | None = None
    member_id: str | None = ""
    share_session_epoch: int = 0
    is_renew_ack: bool = False
    topics: list[AcknowledgeTopic] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+", nullable="0+"),
        Field("member_id", "string", "0+", nullable="0+"),
        Field("share_session_epoch", "int32", "0+"),
        Field("is_renew_ack", "bool", "2+"),
        Field("topics", "[]struct", "0+", of=AcknowledgeTopic),
        versions="1-2",
        flexible="0+",
        key=79,
    )


class LeaderIdAndEpoch(Message):
    leader_id: int = 0
    leader_epoch: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("leader_id", "int32", "0+"),
        Field("leader_epoch", "int32", "0+"),
    )


class PartitionData(Message):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("current_leader", "struct", "0+", of=LeaderIdAndEpoch),
    )


class ShareAcknowledgeTopicResponse(Message):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("partitions", "[]struct", "0+", of=PartitionData),
    )


class NodeEndpoint(Message):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("node_id", "int32", "0+"),
        Field("host", "string", "0+"),
        Field("port", "int32", "0+"),
        Field("rack", "string", "0+", nullable="0+"),
    )


class ShareAcknowledgeResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: int = 0
    responses: list[ShareAcknowledgeTopicResponse] = field(default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("acquisition_lock_timeout_ms", "int32", "2+", ignorable=True),
        Field("responses", "[]struct", "0+", of=ShareAcknowledgeTopicResponse),
        Field("node_endpoints", "[]struct", "0+", of=NodeEndpoint),
        versions="1-2",
        flexible="0+",
        key=79,
    )
