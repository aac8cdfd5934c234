"""Kafka: push telemetry. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class PushTelemetryRequest(Message):
    client_instance_id: bytes = ZERO_UUID
    subscription_id: int = 0
    terminating: bool = False
    compression_type: int = 0
    metrics: bytes = b""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("client_instance_id", "uuid", "0+"),
        Field("subscription_id", "int32", "0+"),
        Field("terminating", "bool", "0+"),
        Field("compression_type", "int8", "0+"),
        Field("metrics", "bytes", "0+"),
        versions="0",
        flexible="0+",
        key=72,
    )


class PushTelemetryResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        versions="0",
        flexible="0+",
        key=72,
    )
