"""Kafka: partition change record. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class PartitionChangeRecord(Message):
    partition_id: int = -1
    topic_id: bytes = ZERO_UUID
    isr: list[int] | None = None
    leader: int = -2
    replicas: list[int] | None = None
    removing_replicas: list[int] | None = None
    adding_replicas: list[int] | None = None
    leader_recovery_state: int = -1
    directories: list[bytes] | None = None
    eligible_leader_replicas: list[int] | None = None
    last_known_elr: list[int] | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_id", "int32", "0+"),
        Field("topic_id", "uuid", "0+"),
        Field("isr", "[]int32", "0+", nullable="0+", tag=0, tagged="0+"),
        Field("leader", "int32", "0+", tag=1, tagged="0+"),
        Field("replicas", "[]int32", "0+", nullable="0+", tag=2, tagged="0+"),
        Field("removing_replicas", "[]int32", "0+", nullable="0+", tag=3, tagged="0+"),
        Field("adding_replicas", "[]int32", "0+", nullable="0+", tag=4, tagged="0+"),
        Field("leader_recovery_state", "int8", "0+", tag=5, tagged="0+"),
        Field("directories", "[]uuid", "1+", nullable="1+", tag=8, tagged="1+"),
        Field("eligible_leader_replicas", "[]int32", "2+", nullable="2+", tag=6, tagged="2+"),
        Field("last_known_elr", "[]int32", "2+", nullable="2+", tag=7, tagged="2+"),
        versions="0-2",
        flexible="0+",
        key=5,
    )
