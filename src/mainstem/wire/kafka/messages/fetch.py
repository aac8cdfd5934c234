"""Kafka: fetch. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema

if TYPE_CHECKING:
    from typing_extensions import Buffer


class ReplicaState(Message):
    replica_id: int = -1
    replica_epoch: int = -1

    SCHEMA: ClassVar[Schema] = Schema(
        Field("replica_id", "int32", "15+"),
        Field("replica_epoch", "int64", "15+"),
    )


class FetchPartition(Message):
    partition: int = 0
    current_leader_epoch: int = -1
    fetch_offset: int = 0
    last_fetched_epoch: int = -1
    log_start_offset: int = -1
    partition_max_bytes: int = 0
    replica_directory_id: bytes = ZERO_UUID
    high_watermark: int = 9223372036854775807

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition", "int32", "0+"),
        Field("current_leader_epoch", "int32", "9+", ignorable=True),
        Field("fetch_offset", "int64", "0+"),
        Field("last_fetched_epoch", "int32", "12+"),
        Field("log_start_offset", "int64", "5+", ignorable=True),
        Field("partition_max_bytes", "int32", "0+"),
        Field("replica_directory_id", "uuid", "17+", tag=0, tagged="17+", ignorable=True),
        Field("high_watermark", "int64", "18+", tag=1, tagged="18+", ignorable=True),
    )


class FetchTopic(Message):
    topic: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[FetchPartition] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic", "string", "0-12", ignorable=True),
        Field("topic_id", "uuid", "13+", ignorable=True),
        Field("partitions", "[]struct", "0+", of=FetchPartition),
    )


class ForgottenTopic(Message):
    topic: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic", "string", "7-12", ignorable=True),
        Field("topic_id", "uuid", "13+", ignorable=True),
        Field("partitions", "[]int32", "7+"),
    )


class FetchRequest(Message):
    cluster_id: str | None = None
    replica_id: int = -1
    replica_state: ReplicaState = field(default_factory=ReplicaState)
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 2147483647
    isolation_level: int = 0
    session_id: int = 0
    session_epoch: int = -1
    topics: list[FetchTopic] = field(default_factory=list)
    forgotten_topics_data: list[ForgottenTopic] = field(default_factory=list)
    rack_id: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("cluster_id", "string", "12+", nullable="12+", tag=0, tagged="12+", ignorable=True),
        Field("replica_id", "int32", "0-14"),
        Field("replica_state", "struct", "15+", of=ReplicaState, tag=1, tagged="15+"),
        Field("max_wait_ms", "int32", "0+"),
        Field("min_bytes", "int32", "0+"),
        Field("max_bytes", "int32", "3+", ignorable=True),
        Field("isolation_level", "int8", "4+", ignorable=True),
        Field("session_id", "int32", "7+", ignorable=True),
        Field("session_epoch", "int32", "7+", ignorable=True),
        Field("topics", "[]struct", "0+", of=FetchTopic),
        Field("forgotten_topics_data", "[]struct", "7+", of=ForgottenTopic),
        Field("rack_id", "string", "11+", ignorable=True),
        versions="4-18",
        flexible="12+",
        key=1,
    )


class EpochEndOffset(Message):
    epoch: int = -1
    end_offset: int = -1

    SCHEMA: ClassVar[Schema] = Schema(
        Field("epoch", "int32", "12+"),
        Field("end_offset", "int64", "12+"),
    )


class LeaderIdAndEpoch(Message):
    leader_id: int = -1
    leader_epoch: int = -1

    SCHEMA: ClassVar[Schema] = Schema(
        Field("leader_id", "int32", "12+"),
        Field("leader_epoch", "int32", "12+"),
    )


class SnapshotId(Message):
    end_offset: int = -1
    epoch: int = -1

    SCHEMA: ClassVar[Schema] = Schema(
        Field("end_offset", "int64", "0+"),
        Field("epoch", "int32", "0+"),
    )


class AbortedTransaction(Message):
    producer_id: int = 0
    first_offset: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("producer_id", "int64", "4+"),
        Field("first_offset", "int64", "4+"),
    )


class PartitionData(Message):
    partition_index: int = 0
    error_code: int = 0
    high_watermark: int = 0
    last_stable_offset: int = -1
    log_start_offset: int = -1
    diverging_epoch: EpochEndOffset = field(default_factory=EpochEndOffset)
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)
    snapshot_id: SnapshotId = field(default_factory=SnapshotId)
    aborted_transactions: list[AbortedTransaction] | None = field(default_factory=list)
    preferred_read_replica: int = -1
    records: Buffer | None = b""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("high_watermark", "int64", "0+"),
        Field("last_stable_offset", "int64", "4+", ignorable=True),
        Field("log_start_offset", "int64", "5+", ignorable=True),
        Field("diverging_epoch", "struct", "12+", of=EpochEndOffset, tag=0, tagged="12+"),
        Field("current_leader", "struct", "12+", of=LeaderIdAndEpoch, tag=1, tagged="12+"),
        Field("snapshot_id", "struct", "12+", of=SnapshotId, tag=2, tagged="12+"),
        Field("aborted_transactions", "[]struct", "4+", of=AbortedTransaction, nullable="4+", ignorable=True),
        Field("preferred_read_replica", "int32", "11+"),
        Field("records", "records", "0+", nullable="0+"),
    )


class FetchableTopicResponse(Message):
    topic: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic", "string", "0-12", ignorable=True),
        Field("topic_id", "uuid", "13+", ignorable=True),
        Field("partitions", "[]struct", "0+", of=PartitionData),
    )


class NodeEndpoint(Message):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("node_id", "int32", "16+"),
        Field("host", "string", "16+"),
        Field("port", "int32", "16+"),
        Field("rack", "string", "16+", nullable="16+"),
    )


class FetchResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    session_id: int = 0
    responses: list[FetchableTopicResponse] = field(default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "1+", ignorable=True),
        Field("error_code", "int16", "7+", ignorable=True),
        Field("session_id", "int32", "7+"),
        Field("responses", "[]struct", "0+", of=FetchableTopicResponse),
        Field("node_endpoints", "[]struct", "16+", of=NodeEndpoint, tag=0, tagged="16+"),
        versions="4-18",
        flexible="12+",
        key=1,
    )
