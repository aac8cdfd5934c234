"""Kafka: config record. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class ConfigRecord(Message):
    resource_type: int = 0
    resource_name: str = ""
    name: str = ""
    value: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("resource_type", "int8", "0+"),
        Field("resource_name", "string", "0+"),
        Field("name", "string", "0+"),
        Field("value", "string", "0+", nullable="0+"),
        versions="0",
        flexible="0+",
        key=4,
    )
