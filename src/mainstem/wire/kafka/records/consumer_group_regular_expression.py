"""Kafka: consumer group regular expression. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class ConsumerGroupRegularExpressionKey(Message):
    group_id: str = ""
    regular_expression: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0"),
        Field("regular_expression", "string", "0"),
        versions="0",
        key=16,
    )


class ConsumerGroupRegularExpressionValue(Message):
    topics: list[str] = field(default_factory=list)
    version: int = 0
    timestamp: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topics", "[]string", "0+"),
        Field("version", "int64", "0+"),
        Field("timestamp", "int64", "0+"),
        versions="0",
        flexible="0+",
        key=16,
    )
