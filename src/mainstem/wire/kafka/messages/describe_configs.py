"""Kafka: describe configs. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class DescribeConfigsResource(Message):
    resource_type: int = 0
    resource_name: str = ""
    configuration_keys: list[str] | None = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("resource_type", "int8", "0+"),
        Field("resource_name", "string", "0+"),
        Field("configuration_keys", "[]string", "0+", nullable="0+"),
    )


class DescribeConfigsRequest(Message):
    resources: list[DescribeConfigsResource] = field(default_factory=list)
    include_synonyms: bool = False
    include_documentation: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("resources", "[]struct", "0+", of=DescribeConfigsResource),
        Field("include_synonyms", "bool", "1+"),
        Field("include_documentation", "bool", "3+"),
        versions="1-4",
        flexible="4+",
        key=32,
    )


class DescribeConfigsSynonym(Message):
    name: str = ""
    value: str | None = ""
    source: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "1+"),
        Field("value", "string", "1+", nullable="0+"),
        Field("source", "int8", "1+"),
    )


class DescribeConfigsResourceResult(Message):
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: int = -1
    is_sensitive: bool = False
    synonyms: list[DescribeConfigsSynonym] = field(default_factory=list)
    config_type: int = 0
    documentation: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("value", "string", "0+", nullable="0+"),
        Field("read_only", "bool", "0+"),
        Field("config_source", "int8", "1+", ignorable=True),
        Field("is_sensitive", "bool", "0+"),
        Field("synonyms", "[]struct", "1+", of=DescribeConfigsSynonym, ignorable=True),
        Field("config_type", "int8", "3+", ignorable=True),
        Field("documentation", "string", "3+", nullable="0+", ignorable=True),
    )


class DescribeConfigsResult(Message):
    error_code: int = 0
    error_message: str | None = ""
    resource_type: int = 0
    resource_name: str = ""
    configs: list[DescribeConfigsResourceResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("resource_type", "int8", "0+"),
        Field("resource_name", "string", "0+"),
        Field("configs", "[]struct", "0+", of=DescribeConfigsResourceResult),
    )


class DescribeConfigsResponse(Message):
    throttle_time_ms: int = 0
    results: list[DescribeConfigsResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("results", "[]struct", "0+", of=DescribeConfigsResult),
        versions="1-4",
        flexible="4+",
        key=32,
    )
