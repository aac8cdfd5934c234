"""Kafka: group metadata. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class GroupMetadataKey(Message):
    group: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group", "string", "0"),
        versions="0",
        key=2,
    )


class MemberMetadata(Message):
    member_id: str = ""
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout: int = -1
    session_timeout: int = 0
    subscription: bytes = b""
    assignment: bytes = b""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("member_id", "string", "0+"),
        Field("group_instance_id", "string", "3+", nullable="3+", ignorable=True),
        Field("client_id", "string", "0+"),
        Field("client_host", "string", "0+"),
        Field("rebalance_timeout", "int32", "1+", ignorable=True),
        Field("session_timeout", "int32", "0+"),
        Field("subscription", "bytes", "0+"),
        Field("assignment", "bytes", "0+"),
    )


class GroupMetadataValue(Message):
    protocol_type: str = ""
    generation: int = 0
    protocol: str | None = ""
    leader: str | None = ""
    current_state_timestamp: int = -1
    members: list[MemberMetadata] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("protocol_type", "string", "0+"),
        Field("generation", "int32", "0+"),
        Field("protocol", "string", "0+", nullable="0+"),
        Field("leader", "string", "0+", nullable="0+"),
        Field("current_state_timestamp", "int64", "2+", ignorable=True),
        Field("members", "[]struct", "0+", of=MemberMetadata),
        versions="0-4",
        flexible="4+",
        key=2,
    )
