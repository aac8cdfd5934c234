"""Kafka: response header. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class ResponseHeader(Message):
    correlation_id: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("correlation_id", "int32", "0+"),
        versions="0-1",
        flexible="1+",
    )
