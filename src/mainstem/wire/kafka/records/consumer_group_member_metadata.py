"""Kafka: consumer group member metadata. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class ConsumerGroupMemberMetadataKey(Message):
    group_id: str = ""
    member_id: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0"),
        Field("member_id", "string", "0"),
        versions="0",
        key=5,
    )


class ClassicProtocol(Message):
    name: str = ""
    metadata: bytes = b""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("metadata", "bytes", "0+"),
    )


class ClassicMemberMetadata(Message):
    session_timeout_ms: int = 0
    supported_protocols: list[ClassicProtocol] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("session_timeout_ms", "int32", "0+"),
        Field("supported_protocols", "[]struct", "0+", of=ClassicProtocol),
    )


class ConsumerGroupMemberMetadataValue(Message):
    instance_id: str | None = ""
    rack_id: str | None = ""
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = field(default_factory=list)
    subscribed_topic_regex: str | None = ""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = ""
    classic_member_metadata: ClassicMemberMetadata | None = field(default_factory=ClassicMemberMetadata)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("instance_id", "string", "0+", nullable="0+"),
        Field("rack_id", "string", "0+", nullable="0+"),
        Field("client_id", "string", "0+"),
        Field("client_host", "string", "0+"),
        Field("subscribed_topic_names", "[]string", "0+"),
        Field("subscribed_topic_regex", "string", "0+", nullable="0+"),
        Field("rebalance_timeout_ms", "int32", "0+"),
        Field("server_assignor", "string", "0+", nullable="0+"),
        Field(
            "classic_member_metadata",
            "struct",
            "0+",
            of=ClassicMemberMetadata,
            nullable="0+",
            tag=0,
            tagged="0+",
        ),
        versions="0",
        flexible="0+",
        key=5,
    )
