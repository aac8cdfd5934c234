"""Kafka: alter configs. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class AlterableConfig(Message):
    name: str = ""
    value: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("value", "string", "0+", nullable="0+"),
    )


class AlterConfigsResource(Message):
    resource_type: int = 0
    resource_name: str = ""
    configs: list[AlterableConfig] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("resource_type", "int8", "0+"),
        Field("resource_name", "string", "0+"),
        Field("configs", "[]struct", "0+", of=AlterableConfig),
    )


class AlterConfigsRequest(Message):
    resources: list[AlterConfigsResource] = field(default_factory=list)
    validate_only: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("resources", "[]struct", "0+", of=AlterConfigsResource),
        Field("validate_only", "bool", "0+"),
        versions="0-2",
        flexible="2+",
        key=33,
    )


class AlterConfigsResourceResponse(Message):
    error_code: int = 0
    error_message: str | None = ""
    resource_type: int = 0
    resource_name: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("resource_type", "int8", "0+"),
        Field("resource_name", "string", "0+"),
    )


class AlterConfigsResponse(Message):
    throttle_time_ms: int = 0
    responses: list[AlterConfigsResourceResponse] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("responses", "[]struct", "0+", of=AlterConfigsResourceResponse),
        versions="0-2",
        flexible="2+",
        key=33,
    )
