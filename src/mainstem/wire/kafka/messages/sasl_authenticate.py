"""Kafka: sasl authenticate. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class SaslAuthenticateRequest(Message):
    auth_bytes: bytes = b""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("auth_bytes", "bytes", "0+"),
        versions="0-2",
        flexible="2+",
        key=36,
    )


class SaslAuthenticateResponse(Message):
    error_code: int = 0
    error_message: str | None = ""
    auth_bytes: bytes = b""
    session_lifetime_ms: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("auth_bytes", "bytes", "0+"),
        Field("session_lifetime_ms", "int64", "1+", ignorable=True),
        versions="0-2",
        flexible="2+",
        key=36,
    )
