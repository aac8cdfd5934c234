"""Kafka: delete share group offsets. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class DeleteShareGroupOffsetsRequestTopic(Message):
    topic_name: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_name", "string", "0+"),
    )


class DeleteShareGroupOffsetsRequest(Message):
    group_id: str = ""
    topics: list[DeleteShareGroupOffsetsRequestTopic] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("topics", "[]struct", "0+", of=DeleteShareGroupOffsetsRequestTopic),
        versions="0",
        flexible="0+",
        key=92,
    )


class DeleteShareGroupOffsetsResponseTopic(Message):
    topic_name: str = ""
    topic_id: bytes = ZERO_UUID
    error_code: int = 0
    error_message: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topic_name", "string", "0+"),
        Field("topic_id", "uuid", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
    )


class DeleteShareGroupOffsetsResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    responses: list[DeleteShareGroupOffsetsResponseTopic] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("responses", "[]struct", "0+", of=DeleteShareGroupOffsetsResponseTopic),
        versions="0",
        flexible="0+",
        key=92,
    )
