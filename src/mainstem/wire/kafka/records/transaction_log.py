"""Kafka: transaction log. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class TransactionLogKey(Message):
    transactional_id: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("transactional_id", "string", "0"),
        versions="0",
        key=0,
    )


class PartitionsSchema(Message):
    topic: str = ""
    partition_ids: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic", "string", "0+"),
        Field("partition_ids", "[]int32", "0+"),
    )


class TransactionLogValue(Message):
    producer_id: int = 0
    previous_producer_id: int = -1
    next_producer_id: int = -1
    producer_epoch: int = 0
    next_producer_epoch: int = -1
    transaction_timeout_ms: int = 0
    transaction_status: int = 0
    transaction_partitions: list[PartitionsSchema] | None = field(default_factory=list)
    transaction_last_update_timestamp_ms: int = 0
    transaction_start_timestamp_ms: int = 0
    client_transaction_version: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("producer_id", "int64", "0+"),
        Field("previous_producer_id", "int64", "1+", tag=0, tagged="1+"),
        Field("next_producer_id", "int64", "1+", tag=1, tagged="1+"),
        Field("producer_epoch", "int16", "0+"),
        Field("next_producer_epoch", "int16", "1+", tag=3, tagged="1+"),
        Field("transaction_timeout_ms", "int32", "0+"),
        Field("transaction_status", "int8", "0+"),
        Field("transaction_partitions", "[]struct", "0+", of=PartitionsSchema, nullable="0+"),
        Field("transaction_last_update_timestamp_ms", "int64", "0+"),
        Field("transaction_start_timestamp_ms", "int64", "0+"),
        Field("client_transaction_version", "int16", "1+", tag=2, tagged="1+"),
        versions="0-1",
        flexible="1+",
        key=0,
    )
