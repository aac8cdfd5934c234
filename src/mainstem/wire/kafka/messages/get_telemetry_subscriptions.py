"""Kafka: get telemetry subscriptions. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class GetTelemetrySubscriptionsRequest(Message):
    client_instance_id: bytes = ZERO_UUID

    SCHEMA: ClassVar[Schema] = Schema(
        Field("client_instance_id", "uuid", "0+"),
        versions="0",
        flexible="0+",
        key=71,
    )


class GetTelemetrySubscriptionsResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    client_instance_id: bytes = ZERO_UUID
    subscription_id: int = 0
    accepted_compression_types: list[int] = field(default_factory=list)
    push_interval_ms: int = 0
    telemetry_max_bytes: int = 0
    delta_temporality: bool = False
    requested_metrics: list[str] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("client_instance_id", "uuid", "0+"),
        Field("subscription_id", "int32", "0+"),
        Field("accepted_compression_types", "[]int8", "0+"),
        Field("push_interval_ms", "int32", "0+"),
        Field("telemetry_max_bytes", "int32", "0+"),
        Field("delta_temporality", "bool", "0+"),
        Field("requested_metrics", "[]string", "0+"),
        versions="0",
        flexible="0+",
        key=71,
    )
