"""Kafka: update features. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class FeatureUpdateKey(Message):
    feature: str = ""
    max_version_level: int = 0
    allow_downgrade: bool = False
    upgrade_type: int = 1

    SCHEMA: ClassVar[Schema] = Schema(
        Field("feature", "string", "0+"),
        Field("max_version_level", "int16", "0+"),
        Field("allow_downgrade", "bool", "0"),
        Field("upgrade_type", "int8", "1+"),
    )


class UpdateFeaturesRequest(Message):
    timeout_ms: int = 60000
    feature_updates: list[FeatureUpdateKey] = field(default_factory=list)
    validate_only: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("timeout_ms", "int32", "0+"),
        Field("feature_updates", "[]struct", "0+", of=FeatureUpdateKey),
        Field("validate_only", "bool", "1+"),
        versions="0-2",
        flexible="0+",
        key=57,
    )


class UpdatableFeatureResult(Message):
    feature: str = ""
    error_code: int = 0
    error_message: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("feature", "string", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
    )


class UpdateFeaturesResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    results: list[UpdatableFeatureResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("results", "[]struct", "0-1", of=UpdatableFeatureResult, ignorable=True),
        versions="0-2",
        flexible="0+",
        key=57,
    )
