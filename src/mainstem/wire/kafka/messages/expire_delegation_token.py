"""Kafka: expire delegation token. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class ExpireDelegationTokenRequest(Message):
    hmac: bytes = b""
    expiry_time_period_ms: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("hmac", "bytes", "0+"),
        Field("expiry_time_period_ms", "int64", "0+"),
        versions="1-2",
        flexible="2+",
        key=40,
    )


class ExpireDelegationTokenResponse(Message):
    error_code: int = 0
    expiry_timestamp_ms: int = 0
    throttle_time_ms: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("expiry_timestamp_ms", "int64", "0+"),
        Field("throttle_time_ms", "int32", "0+"),
        versions="1-2",
        flexible="2+",
        key=40,
    )
