"""Kafka: request header. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class RequestHeader(Message):
    request_api_key: int = 0
    request_api_version: int = 0
    correlation_id: int = 0
    client_id: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("request_api_key", "int16", "0+"),
        Field("request_api_version", "int16", "0+"),
        Field("correlation_id", "int32", "0+"),
        Field("client_id", "string", "1+", nullable="1+", flexible=False),
        versions="1-2",
        flexible="2+",
    )
