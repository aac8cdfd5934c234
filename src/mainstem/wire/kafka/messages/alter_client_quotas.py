"""Kafka: alter client quotas. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class AlterClientQuotasRequestEntityData(Message):
    entity_type: str = ""
    entity_name: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("entity_type", "string", "0+"),
        Field("entity_name", "string", "0+", nullable="0+"),
    )


class OpData(Message):
    key: str = ""
    value: float = 0.0
    remove: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("key", "string", "0+"),
        Field("value", "float64", "0+"),
        Field("remove", "bool", "0+"),
    )


class AlterClientQuotasRequestEntryData(Message):
    entity: list[AlterClientQuotasRequestEntityData] = field(default_factory=list)
    ops: list[OpData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("entity", "[]struct", "0+", of=AlterClientQuotasRequestEntityData),
        Field("ops", "[]struct", "0+", of=OpData),
    )


class AlterClientQuotasRequest(Message):
    entries: list[AlterClientQuotasRequestEntryData] = field(default_factory=list)
    validate_only: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("entries", "[]struct", "0+", of=AlterClientQuotasRequestEntryData),
        Field("validate_only", "bool", "0+"),
        versions="0-1",
        flexible="1+",
        key=49,
    )


class AlterClientQuotasResponseEntityData(Message):
    entity_type: str = ""
    entity_name: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("entity_type", "string", "0+"),
        Field("entity_name", "string", "0+", nullable="0+"),
    )


class AlterClientQuotasResponseEntryData(Message):
    error_code: int = 0
    error_message: str | None = ""
    entity: list[AlterClientQuotasResponseEntityData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("entity", "[]struct", "0+", of=AlterClientQuotasResponseEntityData),
    )


class AlterClientQuotasResponse(Message):
    throttle_time_ms: int = 0
    entries: list[AlterClientQuotasResponseEntryData] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("entries", "[]struct", "0+", of=AlterClientQuotasResponseEntryData),
        versions="0-1",
        flexible="1+",
        key=49,
    )
