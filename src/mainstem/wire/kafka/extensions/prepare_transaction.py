"""Ours: a producer gives its open transaction into the hands of its writer's decision."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class PrepareTransactionRequest(Message):
    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    number: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("transactional_id", "string", "0+"),
        Field("producer_id", "int64", "0+"),
        Field("producer_epoch", "int16", "0+"),
        Field("number", "int64", "0+"),
        versions="0",
        flexible="0+",
        key=10000,
    )


class PrepareTransactionResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    decided_number: int = -1

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("decided_number", "int64", "0+"),
        versions="0",
        flexible="0+",
        key=10000,
    )
