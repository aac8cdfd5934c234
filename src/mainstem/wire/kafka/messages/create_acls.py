"""Kafka: create acls. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class AclCreation(Message):
    resource_type: int = 0
    resource_name: str = ""
    resource_pattern_type: int = 3
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("resource_type", "int8", "0+"),
        Field("resource_name", "string", "0+"),
        Field("resource_pattern_type", "int8", "1+"),
        Field("principal", "string", "0+"),
        Field("host", "string", "0+"),
        Field("operation", "int8", "0+"),
        Field("permission_type", "int8", "0+"),
    )


class CreateAclsRequest(Message):
    creations: list[AclCreation] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("creations", "[]struct", "0+", of=AclCreation),
        versions="1-3",
        flexible="2+",
        key=30,
    )


class AclCreationResult(Message):
    error_code: int = 0
    error_message: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
    )


class CreateAclsResponse(Message):
    throttle_time_ms: int = 0
    results: list[AclCreationResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("results", "[]struct", "0+", of=AclCreationResult),
        versions="1-3",
        flexible="2+",
        key=30,
    )
