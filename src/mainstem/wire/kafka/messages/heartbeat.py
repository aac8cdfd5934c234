"""Kafka: heartbeat. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class HeartbeatRequest(Message):
    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("generation_id", "int32", "0+"),
        Field("member_id", "string", "0+"),
        Field("group_instance_id", "string", "3+", nullable="3+"),
        versions="0-4",
        flexible="4+",
        key=12,
    )


class HeartbeatResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "1+", ignorable=True),
        Field("error_code", "int16", "0+"),
        versions="0-4",
        flexible="4+",
        key=12,
    )
