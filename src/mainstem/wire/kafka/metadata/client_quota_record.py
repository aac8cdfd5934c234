"""Kafka: client quota record. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class EntityData(Message):
    entity_type: str = ""
    entity_name: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("entity_type", "string", "0+"),
        Field("entity_name", "string", "0+", nullable="0+"),
    )


class ClientQuotaRecord(Message):
    entity: list[EntityData] = field(default_factory=list)
    key: str = ""
    value: float = 0.0
    remove: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("entity", "[]struct", "0+", of=EntityData),
        Field("key", "string", "0+"),
        Field("value", "float64", "0+"),
        Field("remove", "bool", "0+"),
        versions="0",
        flexible="0+",
        key=14,
    )
