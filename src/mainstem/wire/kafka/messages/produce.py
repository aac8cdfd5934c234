"""Kafka: produce. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema

if TYPE_CHECKING:
    from typing_extensions import Buffer


class PartitionProduceData(Message):
    index: int = 0
    records: Buffer | None = b""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("index", "int32", "0+"),
        Field("records", "records", "0+", nullable="0+"),
    )


class TopicProduceData(Message):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partition_data: list[PartitionProduceData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0-12", ignorable=True),
        Field("topic_id", "uuid", "13+", ignorable=True),
        Field("partition_data", "[]struct", "0+", of=PartitionProduceData),
    )


class ProduceRequest(Message):
    transactional_id: str | None = None
    acks: int = 0
    timeout_ms: int = 0
    topic_data: list[TopicProduceData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("transactional_id", "string", "3+", nullable="3+"),
        Field("acks", "int16", "0+"),
        Field("timeout_ms", "int32", "0+"),
        Field("topic_data", "[]struct", "0+", of=TopicProduceData),
        versions="3-13",
        flexible="9+",
        key=0,
    )


class BatchIndexAndErrorMessage(Message):
    batch_index: int = 0
    batch_index_error_message: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("batch_index", "int32", "8+"),
        Field("batch_index_error_message", "string", "8+", nullable="8+"),
    )


class LeaderIdAndEpoch(Message):
    leader_id: int = -1
    leader_epoch: int = -1

    SCHEMA: ClassVar[Schema] = Schema(
        Field("leader_id", "int32", "10+"),
        Field("leader_epoch", "int32", "10+"),
    )


class PartitionProduceResponse(Message):
    index: int = 0
    error_code: int = 0
    base_offset: int = 0
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: list[BatchIndexAndErrorMessage] = field(default_factory=list)
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("base_offset", "int64", "0+"),
        Field("log_append_time_ms", "int64", "2+", ignorable=True),
        Field("log_start_offset", "int64", "5+", ignorable=True),
        Field("record_errors", "[]struct", "8+", of=BatchIndexAndErrorMessage, ignorable=True),
        Field("error_message", "string", "8+", nullable="8+", ignorable=True),
        Field("current_leader", "struct", "10+", of=LeaderIdAndEpoch, tag=0, tagged="10+"),
    )


class TopicProduceResponse(Message):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partition_responses: list[PartitionProduceResponse] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0-12", ignorable=True),
        Field("topic_id", "uuid", "13+", ignorable=True),
        Field("partition_responses", "[]struct", "0+", of=PartitionProduceResponse),
    )


class NodeEndpoint(Message):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("node_id", "int32", "10+"),
        Field("host", "string", "10+"),
        Field("port", "int32", "10+"),
        Field("rack", "string", "10+", nullable="10+"),
    )


class ProduceResponse(Message):
    responses: list[TopicProduceResponse] = field(default_factory=list)
    throttle_time_ms: int = 0
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("responses", "[]struct", "0+", of=TopicProduceResponse),
        Field("throttle_time_ms", "int32", "1+", ignorable=True),
        Field("node_endpoints", "[]struct", "10+", of=NodeEndpoint, tag=0, tagged="10+"),
        versions="3-13",
        flexible="9+",
        key=0,
    )
