"""Kafka: streams group current member assignment. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class StreamsGroupCurrentMemberAssignmentKey(Message):
    group_id: str = ""
    member_id: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0"),
        Field("member_id", "string", "0"),
        versions="0",
        key=22,
    )


class TaskIds(Message):
    subtopology_id: str = ""
    partitions: list[int] = field(default_factory=list)
    assignment_epochs: list[int] | None = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("subtopology_id", "string", "0+"),
        Field("partitions", "[]int32", "0+"),
        Field("assignment_epochs", "[]int32", "0+", nullable="0+", tag=0, tagged="0+"),
    )


class StreamsGroupCurrentMemberAssignmentValue(Message):
    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: int = 0
    active_tasks: list[TaskIds] = field(default_factory=list)
    standby_tasks: list[TaskIds] = field(default_factory=list)
    warmup_tasks: list[TaskIds] = field(default_factory=list)
    active_tasks_pending_revocation: list[TaskIds] = field(default_factory=list)
    standby_tasks_pending_revocation: list[TaskIds] = field(default_factory=list)
    warmup_tasks_pending_revocation: list[TaskIds] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("member_epoch", "int32", "0+"),
        Field("previous_member_epoch", "int32", "0+"),
        Field("state", "int8", "0+"),
        Field("active_tasks", "[]struct", "0+", of=TaskIds),
        Field("standby_tasks", "[]struct", "0+", of=TaskIds),
        Field("warmup_tasks", "[]struct", "0+", of=TaskIds),
        Field("active_tasks_pending_revocation", "[]struct", "0+", of=TaskIds),
        Field("standby_tasks_pending_revocation", "[]struct", "0+", of=TaskIds),
        Field("warmup_tasks_pending_revocation", "[]struct", "0+", of=TaskIds),
        versions="0",
        flexible="0+",
        key=22,
    )
