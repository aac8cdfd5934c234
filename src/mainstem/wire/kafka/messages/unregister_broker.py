"""Kafka: unregister broker. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class UnregisterBrokerRequest(Message):
    broker_id: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("broker_id", "int32", "0+"),
        versions="0",
        flexible="0+",
        key=64,
    )


class UnregisterBrokerResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        versions="0",
        flexible="0+",
        key=64,
    )
