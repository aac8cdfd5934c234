"""Ours: one decision on everything that a writer has prepared under a number."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class DecideTransactionsRequest(Message):
    writer: str = ""
    number: int = 0
    committed_ids: list[str] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("writer", "string", "0+"),
        Field("number", "int64", "0+"),
        Field("committed_ids", "[]string", "0+"),
        versions="0",
        flexible="0+",
        key=10001,
    )


class DecideTransactionsResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    decided_number: int = -1
    decided_time_ms: int = -1
    committed_ids: list[str] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("decided_number", "int64", "0+"),
        Field("decided_time_ms", "int64", "0+"),
        Field("committed_ids", "[]string", "0+"),
        versions="0",
        flexible="0+",
        key=10001,
    )
