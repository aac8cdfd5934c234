"""Kafka: delete groups. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class DeleteGroupsRequest(Message):
    groups_names: list[str] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("groups_names", "[]string", "0+"),
        versions="0-2",
        flexible="2+",
        key=42,
    )


class DeletableGroupResult(Message):
    group_id: str = ""
    error_code: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("error_code", "int16", "0+"),
    )


class DeleteGroupsResponse(Message):
    throttle_time_ms: int = 0
    results: list[DeletableGroupResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("results", "[]struct", "0+", of=DeletableGroupResult),
        versions="0-2",
        flexible="2+",
        key=42,
    )
