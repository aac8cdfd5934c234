"""Kafka: streams group target assignment metadata. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class StreamsGroupTargetAssignmentMetadataKey(Message):
    group_id: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0"),
        versions="0",
        key=20,
    )


class StreamsGroupTargetAssignmentMetadataValue(Message):
    assignment_epoch: int = 0
    assignment_timestamp: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("assignment_epoch", "int32", "0+"),
        Field("assignment_timestamp", "int64", "0+", tag=0, tagged="0+", ignorable=True),
        versions="0",
        flexible="0+",
        key=20,
    )
