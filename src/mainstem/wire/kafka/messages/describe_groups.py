"""Kafka: describe groups. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class DescribeGroupsRequest(Message):
    groups: list[str] = field(default_factory=list)
    include_authorized_operations: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("groups", "[]string", "0+"),
        Field("include_authorized_operations", "bool", "3+"),
        versions="0-6",
        flexible="5+",
        key=15,
    )


class DescribedGroupMember(Message):
    member_id: str = ""
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    member_metadata: bytes = b""
    member_assignment: bytes = b""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("member_id", "string", "0+"),
        Field("group_instance_id", "string", "4+", nullable="4+", ignorable=True),
        Field("client_id", "string", "0+"),
        Field("client_host", "string", "0+"),
        Field("member_metadata", "bytes", "0+"),
        Field("member_assignment", "bytes", "0+"),
    )


class DescribedGroup(Message):
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: list[DescribedGroupMember] = field(default_factory=list)
    authorized_operations: int = -2147483648

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "6+", nullable="6+"),
        Field("group_id", "string", "0+"),
        Field("group_state", "string", "0+"),
        Field("protocol_type", "string", "0+"),
        Field("protocol_data", "string", "0+"),
        Field("members", "[]struct", "0+", of=DescribedGroupMember),
        Field("authorized_operations", "int32", "3+"),
    )


class DescribeGroupsResponse(Message):
    throttle_time_ms: int = 0
    groups: list[DescribedGroup] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "1+", ignorable=True),
        Field("groups", "[]struct", "0+", of=DescribedGroup),
        versions="0-6",
        flexible="5+",
        key=15,
    )
