"""Kafka: describe client quotas. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class ComponentData(Message):
    entity_type: str = ""
    match_type: int = 0
    match: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("entity_type", "string", "0+"),
        Field("match_type", "int8", "0+"),
        Field("match", "string", "0+", nullable="0+"),
    )


class DescribeClientQuotasRequest(Message):
    components: list[ComponentData] = field(default_factory=list)
    strict: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("components", "[]struct", "0+", of=ComponentData),
        Field("strict", "bool", "0+"),
        versions="0-1",
        flexible="1+",
        key=48,
    )


class EntityData(Message):
    entity_type: str = ""
    entity_name: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("entity_type", "string", "0+"),
        Field("entity_name", "string", "0+", nullable="0+"),
    )


class ValueData(Message):
    key: str = ""
    value: float = 0.0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("key", "string", "0+"),
        Field("value", "float64", "0+"),
    )


class EntryData(Message):
    entity: list[EntityData] = field(default_factory=list)
    values: list[ValueData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("entity", "[]struct", "0+", of=EntityData),
        Field("values", "[]struct", "0+", of=ValueData),
    )


class DescribeClientQuotasResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    entries: list[EntryData] | None = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("entries", "[]struct", "0+", of=EntryData, nullable="0+"),
        versions="0-1",
        flexible="1+",
        key=48,
    )
