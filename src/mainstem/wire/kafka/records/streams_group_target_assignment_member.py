"""Kafka: streams group target assignment member. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class StreamsGroupTargetAssignmentMemberKey(Message):
    group_id: str = ""
    member_id: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0"),
        Field("member_id", "string", "0"),
        versions="0",
        key=21,
    )


class TaskIds(Message):
    subtopology_id: str = ""
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("subtopology_id", "string", "0+"),
        Field("partitions", "[]int32", "0+"),
    )


class StreamsGroupTargetAssignmentMemberValue(Message):
    active_tasks: list[TaskIds] = field(default_factory=list)
    standby_tasks: list[TaskIds] = field(default_factory=list)
    warmup_tasks: list[TaskIds] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("active_tasks", "[]struct", "0+", of=TaskIds),
        Field("standby_tasks", "[]struct", "0+", of=TaskIds),
        Field("warmup_tasks", "[]struct", "0+", of=TaskIds),
        versions="0",
        flexible="0+",
        key=21,
    )
