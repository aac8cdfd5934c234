"""Kafka: describe transactions. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class DescribeTransactionsRequest(Message):
    transactional_ids: list[str] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("transactional_ids", "[]string", "0+"),
        versions="0",
        flexible="0+",
        key=65,
    )


class TopicData(Message):
    topic: str = ""
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic", "string", "0+"),
        Field("partitions", "[]int32", "0+"),
    )


class TransactionState(Message):
    error_code: int = 0
    transactional_id: str = ""
    transaction_state: str = ""
    transaction_timeout_ms: int = 0
    transaction_start_time_ms: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    topics: list[TopicData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("transactional_id", "string", "0+"),
        Field("transaction_state", "string", "0+"),
        Field("transaction_timeout_ms", "int32", "0+"),
        Field("transaction_start_time_ms", "int64", "0+"),
        Field("producer_id", "int64", "0+"),
        Field("producer_epoch", "int16", "0+"),
        Field("topics", "[]struct", "0+", of=TopicData),
    )


class DescribeTransactionsResponse(Message):
    throttle_time_ms: int = 0
    transaction_states: list[TransactionState] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("transaction_states", "[]struct", "0+", of=TransactionState),
        versions="0",
        flexible="0+",
        key=65,
    )
