"""Kafka: find coordinator. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class FindCoordinatorRequest(Message):
    key: str = ""
    key_type: int = 0
    coordinator_keys: list[str] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("key", "string", "0-3"),
        Field("key_type", "int8", "1+"),
        Field("coordinator_keys", "[]string", "4+"),
        versions="0-6",
        flexible="3+",
        key=10,
    )


class Coordinator(Message):
    key: str = ""
    node_id: int = 0
    host: str = ""
    port: int = 0
    error_code: int = 0
    error_message: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("key", "string", "4+"),
        Field("node_id", "int32", "4+"),
        Field("host", "string", "4+"),
        Field("port", "int32", "4+"),
        Field("error_code", "int16", "4+"),
        Field("error_message", "string", "4+", nullable="4+", ignorable=True),
    )


class FindCoordinatorResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    node_id: int = 0
    host: str = ""
    port: int = 0
    coordinators: list[Coordinator] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "1+", ignorable=True),
        Field("error_code", "int16", "0-3"),
        Field("error_message", "string", "1-3", nullable="1-3", ignorable=True),
        Field("node_id", "int32", "0-3"),
        Field("host", "string", "0-3"),
        Field("port", "int32", "0-3"),
        Field("coordinators", "[]struct", "4+", of=Coordinator),
        versions="0-6",
        flexible="3+",
        key=10,
    )
