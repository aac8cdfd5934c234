"""Kafka: leave group. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class MemberIdentity(Message):
    member_id: str = ""
    group_instance_id: str | None = None
    reason: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("member_id", "string", "3+"),
        Field("group_instance_id", "string", "3+", nullable="3+"),
        Field("reason", "string", "5+", nullable="5+", ignorable=True),
    )


class LeaveGroupRequest(Message):
    group_id: str = ""
    member_id: str = ""
    members: list[MemberIdentity] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("member_id", "string", "0-2"),
        Field("members", "[]struct", "3+", of=MemberIdentity),
        versions="0-5",
        flexible="4+",
        key=13,
    )


class MemberResponse(Message):
    member_id: str = ""
    group_instance_id: str | None = ""
    error_code: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("member_id", "string", "3+"),
        Field("group_instance_id", "string", "3+", nullable="3+"),
        Field("error_code", "int16", "3+"),
    )


class LeaveGroupResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    members: list[MemberResponse] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "1+", ignorable=True),
        Field("error_code", "int16", "0+"),
        Field("members", "[]struct", "3+", of=MemberResponse),
        versions="0-5",
        flexible="4+",
        key=13,
    )
