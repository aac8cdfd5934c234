"""Kafka: streams group member metadata. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class StreamsGroupMemberMetadataKey(Message):
    group_id: str = ""
    member_id: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0"),
        Field("member_id", "string", "0"),
        versions="0",
        key=19,
    )


class Endpoint(Message):
    host: str = ""
    port: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("host", "string", "0+"),
        Field("port", "uint16", "0+"),
    )


class KeyValue(Message):
    key: str = ""
    value: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("key", "string", "0+"),
        Field("value", "string", "0+"),
    )


class StreamsGroupMemberMetadataValue(Message):
    instance_id: str | None = ""
    rack_id: str | None = ""
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = 0
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("instance_id", "string", "0+", nullable="0+"),
        Field("rack_id", "string", "0+", nullable="0+"),
        Field("client_id", "string", "0+"),
        Field("client_host", "string", "0+"),
        Field("rebalance_timeout_ms", "int32", "0+"),
        Field("topology_epoch", "int32", "0+"),
        Field("process_id", "string", "0+"),
        Field("user_endpoint", "struct", "0+", of=Endpoint, nullable="0+"),
        Field("client_tags", "[]struct", "0+", of=KeyValue),
        versions="0",
        flexible="0+",
        key=19,
    )
