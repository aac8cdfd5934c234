"""Kafka: sasl handshake. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class SaslHandshakeRequest(Message):
    mechanism: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("mechanism", "string", "0+"),
        versions="0-1",
        key=17,
    )


class SaslHandshakeResponse(Message):
    error_code: int = 0
    mechanisms: list[str] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("mechanisms", "[]string", "0+"),
        versions="0-1",
        key=17,
    )
