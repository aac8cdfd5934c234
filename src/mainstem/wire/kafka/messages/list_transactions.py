"""Kafka: list transactions. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class ListTransactionsRequest(Message):
    state_filters: list[str] = field(default_factory=list)
    producer_id_filters: list[int] = field(default_factory=list)
    duration_filter: int = -1
    transactional_id_pattern: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("state_filters", "[]string", "0+"),
        Field("producer_id_filters", "[]int64", "0+"),
        Field("duration_filter", "int64", "1+"),
        Field("transactional_id_pattern", "string", "2+", nullable="2+"),
        versions="0-2",
        flexible="0+",
        key=66,
    )


class TransactionState(Message):
    transactional_id: str = ""
    producer_id: int = 0
    transaction_state: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("transactional_id", "string", "0+"),
        Field("producer_id", "int64", "0+"),
        Field("transaction_state", "string", "0+"),
    )


class ListTransactionsResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    unknown_state_filters: list[str] = field(default_factory=list)
    transaction_states: list[TransactionState] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("unknown_state_filters", "[]string", "0+"),
        Field("transaction_states", "[]struct", "0+", of=TransactionState),
        versions="0-2",
        flexible="0+",
        key=66,
    )
