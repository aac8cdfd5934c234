"""Kafka: describe cluster. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class DescribeClusterRequest(Message):
    include_cluster_authorized_operations: bool = False
    endpoint_type: int = 1
    include_fenced_brokers: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("include_cluster_authorized_operations", "bool", "0+"),
        Field("endpoint_type", "int8", "1+"),
        Field("include_fenced_brokers", "bool", "2+"),
        versions="0-2",
        flexible="0+",
        key=60,
    )


class DescribeClusterBroker(Message):
    broker_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None
    is_fenced: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("broker_id", "int32", "0+"),
        Field("host", "string", "0+"),
        Field("port", "int32", "0+"),
        Field("rack", "string", "0+", nullable="0+"),
        Field("is_fenced", "bool", "2+"),
    )


class DescribeClusterResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    endpoint_type: int = 1
    cluster_id: str = ""
    controller_id: int = -1
    brokers: list[DescribeClusterBroker] = field(default_factory=list)
    cluster_authorized_operations: int = -2147483648

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("endpoint_type", "int8", "1+"),
        Field("cluster_id", "string", "0+"),
        Field("controller_id", "int32", "0+"),
        Field("brokers", "[]struct", "0+", of=DescribeClusterBroker),
        Field("cluster_authorized_operations", "int32", "0+"),
        versions="0-2",
        flexible="0+",
        key=60,
    )
