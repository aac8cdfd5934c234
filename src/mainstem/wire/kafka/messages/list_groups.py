"""Kafka: list groups. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class ListGroupsRequest(Message):
    states_filter: list[str] = field(default_factory=list)
    types_filter: list[str] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("states_filter", "[]string", "4+"),
        Field("types_filter", "[]string", "5+"),
        versions="0-5",
        flexible="3+",
        key=16,
    )


class ListedGroup(Message):
    group_id: str = ""
    protocol_type: str = ""
    group_state: str = ""
    group_type: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0+"),
        Field("protocol_type", "string", "0+"),
        Field("group_state", "string", "4+", ignorable=True),
        Field("group_type", "string", "5+", ignorable=True),
    )


class ListGroupsResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    groups: list[ListedGroup] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "1+", ignorable=True),
        Field("error_code", "int16", "0+"),
        Field("groups", "[]struct", "0+", of=ListedGroup),
        versions="0-5",
        flexible="3+",
        key=16,
    )
