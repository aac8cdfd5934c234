"""Kafka: list config resources. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class ListConfigResourcesRequest(Message):
    resource_types: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("resource_types", "[]int8", "1+"),
        versions="0-1",
        flexible="0+",
        key=74,
    )


class ConfigResource(Message):
    resource_name: str = ""
    resource_type: int = 16

    SCHEMA: ClassVar[Schema] = Schema(
        Field("resource_name", "string", "0+"),
        Field("resource_type", "int8", "1+", ignorable=True),
    )


class ListConfigResourcesResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    config_resources: list[ConfigResource] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("config_resources", "[]struct", "0+", of=ConfigResource),
        versions="0-1",
        flexible="0+",
        key=74,
    )
