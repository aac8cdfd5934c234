"""Kafka: partition record. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class PartitionRecord(Message):
    partition_id: int = -1
    topic_id: bytes = ZERO_UUID
    replicas: list[int] = field(default_factory=list)
    isr: list[int] = field(default_factory=list)
    removing_replicas: list[int] = field(default_factory=list)
    adding_replicas: list[int] = field(default_factory=list)
    leader: int = -1
    leader_recovery_state: int = 0
    leader_epoch: int = -1
    partition_epoch: int = -1
    directories: list[bytes] = field(default_factory=list)
    eligible_leader_replicas: list[int] | None = None
    last_known_elr: list[int] | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_id", "int32", "0+"),
        Field("topic_id", "uuid", "0+"),
        Field("replicas", "[]int32", "0+"),
        Field("isr", "[]int32", "0+"),
        Field("removing_replicas", "[]int32", "0+"),
        Field("adding_replicas", "[]int32", "0+"),
        Field("leader", "int32", "0+"),
        Field("leader_recovery_state", "int8", "0+", tag=0, tagged="0+"),
        Field("leader_epoch", "int32", "0+"),
        Field("partition_epoch", "int32", "0+"),
        Field("directories", "[]uuid", "1+"),
        Field("eligible_leader_replicas", "[]int32", "2+", nullable="2+", tag=1, tagged="2+"),
        Field("last_known_elr", "[]int32", "2+", nullable="2+", tag=2, tagged="2+"),
        versions="0-2",
        flexible="0+",
        key=3,
    )
