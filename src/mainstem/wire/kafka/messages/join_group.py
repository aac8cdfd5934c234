"""Kafka: join group. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class JoinGroupRequestProtocol(Message):
    name: str = ""
    metadata: bytes = b""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("metadata", "bytes", "0+"),
    )


class JoinGroupRequest(Message):
    group_id: str = ""
    session_timeout_ms: int = 0
    rebalance_timeout_ms: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    protocol_type: str = ""
    protocols: list[JoinGroupRequestProtocol] = field(default_factory=list)
    reason: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("session_timeout_ms", "int32", "0+"),
        Field("rebalance_timeout_ms", "int32", "1+", ignorable=True),
        Field("member_id", "string", "0+"),
        Field("group_instance_id", "string", "5+", nullable="5+"),
        Field("protocol_type", "string", "0+"),
        Field("protocols", "[]struct", "0+", of=JoinGroupRequestProtocol),
        Field("reason", "string", "8+", nullable="8+", ignorable=True),
        versions="0-9",
        flexible="6+",
        key=11,
    )


class JoinGroupResponseMember(Message):
    member_id: str = ""
    group_instance_id: str | None = None
    metadata: bytes = b""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("member_id", "string", "0+"),
        Field("group_instance_id", "string", "5+", nullable="5+", ignorable=True),
        Field("metadata", "bytes", "0+"),
    )


class JoinGroupResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = ""
    leader: str = ""
    skip_assignment: bool = False
    member_id: str = ""
    members: list[JoinGroupResponseMember] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "2+", ignorable=True),
        Field("error_code", "int16", "0+"),
        Field("generation_id", "int32", "0+"),
        Field("protocol_type", "string", "7+", nullable="7+", ignorable=True),
        Field("protocol_name", "string", "0+", nullable="7+"),
        Field("leader", "string", "0+"),
        Field("skip_assignment", "bool", "9+"),
        Field("member_id", "string", "0+"),
        Field("members", "[]struct", "0+", of=JoinGroupResponseMember),
        versions="0-9",
        flexible="6+",
        key=11,
    )
