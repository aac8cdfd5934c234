"""Kafka: api versions. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class ApiVersionsRequest(Message):
    client_software_name: str = ""
    client_software_version: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("client_software_name", "string", "3+", ignorable=True),
        Field("client_software_version", "string", "3+", ignorable=True),
        versions="0-4",
        flexible="3+",
        key=18,
    )


class ApiVersion(Message):
    api_key: int = 0
    min_version: int = 0
    max_version: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("api_key", "int16", "0+"),
        Field("min_version", "int16", "0+"),
        Field("max_version", "int16", "0+"),
    )


class SupportedFeatureKey(Message):
    name: str = ""
    min_version: int = 0
    max_version: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "3+"),
        Field("min_version", "int16", "3+"),
        Field("max_version", "int16", "3+"),
    )


class FinalizedFeatureKey(Message):
    name: str = ""
    max_version_level: int = 0
    min_version_level: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "3+"),
        Field("max_version_level", "int16", "3+"),
        Field("min_version_level", "int16", "3+"),
    )


class ApiVersionsResponse(Message):
    error_code: int = 0
    api_keys: list[ApiVersion] = field(default_factory=list)
    throttle_time_ms: int = 0
    supported_features: list[SupportedFeatureKey] = field(default_factory=list)
    finalized_features_epoch: int = -1
    finalized_features: list[FinalizedFeatureKey] = field(default_factory=list)
    zk_migration_ready: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("api_keys", "[]struct", "0+", of=ApiVersion),
        Field("throttle_time_ms", "int32", "1+", ignorable=True),
        Field(
            "supported_features", "[]struct", "3+", of=SupportedFeatureKey, tag=0, tagged="3+", ignorable=True
        ),
        Field("finalized_features_epoch", "int64", "3+", tag=1, tagged="3+", ignorable=True),
        Field(
            "finalized_features", "[]struct", "3+", of=FinalizedFeatureKey, tag=2, tagged="3+", ignorable=True
        ),
        Field("zk_migration_ready", "bool", "3+", tag=3, tagged="3+", ignorable=True),
        versions="0-4",
        flexible="3+",
        key=18,
    )
