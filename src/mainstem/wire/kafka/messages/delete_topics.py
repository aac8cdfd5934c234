"""Kafka: delete topics. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class DeleteTopicState(Message):
    name: str | None = None
    topic_id: bytes = ZERO_UUID

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "6+", nullable="6+"),
        Field("topic_id", "uuid", "6+"),
    )


class DeleteTopicsRequest(Message):
    topics: list[DeleteTopicState] = field(default_factory=list)
    topic_names: list[str] = field(default_factory=list)
    timeout_ms: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("topics", "[]struct", "6+", of=DeleteTopicState),
        Field("topic_names", "[]string", "0-5", ignorable=True),
        Field("timeout_ms", "int32", "0+"),
        versions="1-6",
        flexible="4+",
        key=20,
    )


class DeletableTopicResult(Message):
    name: str | None = ""
    topic_id: bytes = ZERO_UUID
    error_code: int = 0
    error_message: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+", nullable="6+"),
        Field("topic_id", "uuid", "6+", ignorable=True),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "5+", nullable="5+", ignorable=True),
    )


class DeleteTopicsResponse(Message):
    throttle_time_ms: int = 0
    responses: list[DeletableTopicResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "1+", ignorable=True),
        Field("responses", "[]struct", "0+", of=DeletableTopicResult),
        versions="1-6",
        flexible="4+",
        key=20,
    )
