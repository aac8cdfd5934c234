"""Ours: the last decision of writers, and what they have prepared since."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class DescribeTransactionWritersRequest(Message):
    writers: list[str] | None = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("writers", "[]string", "0+", nullable="0+"),
        versions="0",
        flexible="0+",
        key=10002,
    )


class PreparedTransaction(Message):
    transactional_id: str = ""
    number: int = 0
    since_time_ms: int = 0
    transaction_state: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("transactional_id", "string", "0+"),
        Field("number", "int64", "0+"),
        Field("since_time_ms", "int64", "0+"),
        Field("transaction_state", "string", "0+"),
    )


class TransactionWriter(Message):
    error_code: int = 0
    error_message: str | None = None
    writer: str = ""
    decided_number: int = -1
    decided_time_ms: int = -1
    committed_ids: list[str] = field(default_factory=list)
    prepared: list[PreparedTransaction] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("writer", "string", "0+"),
        Field("decided_number", "int64", "0+"),
        Field("decided_time_ms", "int64", "0+"),
        Field("committed_ids", "[]string", "0+"),
        Field("prepared", "[]struct", "0+", of=PreparedTransaction),
    )


class DescribeTransactionWritersResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    writers: list[TransactionWriter] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("writers", "[]struct", "0+", of=TransactionWriter),
        versions="0",
        flexible="0+",
        key=10002,
    )
