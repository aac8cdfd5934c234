"""Kafka: sync group. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class SyncGroupRequestAssignment(Message):
    member_id: str = ""
    assignment: bytes = b""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("member_id", "string", "0+"),
        Field("assignment", "bytes", "0+"),
    )


class SyncGroupRequest(Message):
    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: list[SyncGroupRequestAssignment] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("generation_id", "int32", "0+"),
        Field("member_id", "string", "0+"),
        Field("group_instance_id", "string", "3+", nullable="3+"),
        Field("protocol_type", "string", "5+", nullable="5+", ignorable=True),
        Field("protocol_name", "string", "5+", nullable="5+", ignorable=True),
        Field("assignments", "[]struct", "0+", of=SyncGroupRequestAssignment),
        versions="0-5",
        flexible="4+",
        key=14,
    )


class SyncGroupResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "1+", ignorable=True),
        Field("error_code", "int16", "0+"),
        Field("protocol_type", "string", "5+", nullable="5+", ignorable=True),
        Field("protocol_name", "string", "5+", nullable="5+", ignorable=True),
        Field("assignment", "bytes", "0+"),
        versions="0-5",
        flexible="4+",
        key=14,
    )
