"""Kafka: share fetch. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema

if TYPE_CHECKING:
    from typing_extensions import Buffer


class AcknowledgementBatch(Message):
    first_offset: int = 0
    last_offset: int = 0
    acknowledge_types: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("first_offset", "int64", "0+"),
        Field("last_offset", "int64", "0+"),
        Field("acknowledge_types", "[]int8", "0+"),
    )


class FetchPartition(Message):
    partition_index: int = 0
    partition_max_bytes: int = 0
    acknowledgement_batches: list[AcknowledgementBatch] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("partition_max_bytes", "int32", "0"),
        Field("acknowledgement_batches", "[]struct", "0+", of=AcknowledgementBatch),
    )


class FetchTopic(Message):
    topic_id: bytes = ZERO_UUID
    partitions: list[FetchPartition] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("partitions", "[]struct", "0+", of=FetchPartition),
    )


class ForgottenTopic(Message):
    topic_id: bytes = ZERO_UUID
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_id", "uuid", "0+"),
        Field("partitions", "[]int32", "0+"),
    )


class ShareFetchRequest(Message):
    group_id: str | None = None
    member_id: str | None = ""
    share_session_epoch: int = 0
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 2147483647
    max_records: int = 0
    batch_size: int = 0
    share_acquire_mode: int = 0
    is_renew_ack: bool = False
    topics: list[FetchTopic] = field(default_factory=list)
    forgotten_topics_data: list[ForgottenTopic] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+", nullable="0+"),
        Field("member_id", "string", "0+", nullable="0+"),
        Field("share_session_epoch", "int32", "0+"),
        Field("max_wait_ms", "int32", "0+"),
        Field("min_bytes", "int32", "0+"),
        Field("max_bytes", "int32", "0+"),
        Field("max_records", "int32", "1+"),
        Field("batch_size", "int32", "1+"),
        Field("share_acquire_mode", "int8", "2+", ignorable=True),
        Field("is_renew_ack", "bool", "2+"),
        Field("topics", "[]struct", "0+", of=FetchTopic),
        Field("forgotten_topics_data", "[]struct", "0+", of=ForgottenTopic),
        versions="1-2",
        flexible="0+",
        key=78,
    )


class LeaderIdAndEpoch(Message):
    leader_id: int = 0
    leader_epoch: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("leader_id", "int32", "0+"),
        Field("leader_epoch", "int32", "0+"),
    )


class AcquiredRecords(Message):
    first_offset: int = 0
    last_offset: int = 0
    delivery_count: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("first_offset", "int64", "0+"),
        Field("last_offset", "int64", "0+"),
        Field("delivery_count", "int16", "0+"),
    )


class PartitionData(Message):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    acknowledge_error_code: int = 0
    acknowledge_error_message: str | None = None
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)
    records: Buffer | None = b""
    acquired_records: list[AcquiredRecords] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("acknowledge_error_code", "int16", "0+"),
        Field("acknowledge_error_message", "string", "0+", nullable="0+"),
        Field("current_leader", "struct", "0+", of=LeaderIdAndEpoch),
        Field("records", "records", "0+", nullable="0"),
        Field("acquired_records", "[]struct", "0+", of=AcquiredRecords),
    )


class ShareFetchableTopicResponse(Message):
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


class ShareFetchResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: int = 0
    responses: list[ShareFetchableTopicResponse] = field(default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("acquisition_lock_timeout_ms", "int32", "1+"),
        Field("responses", "[]struct", "0+", of=ShareFetchableTopicResponse),
        Field("node_endpoints", "[]struct", "0+", of=NodeEndpoint),
        versions="1-2",
        flexible="0+",
        key=78,
    )
