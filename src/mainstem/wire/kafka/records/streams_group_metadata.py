"""Kafka: streams group metadata. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class StreamsGroupMetadataKey(Message):
    group_id: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0"),
        versions="0",
        key=17,
    )


class LastAssignmentConfig(Message):
    key: str = ""
    value: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("key", "string", "0+"),
        Field("value", "string", "0+"),
    )


class StreamsGroupMetadataValue(Message):
    epoch: int = 0
    metadata_hash: int = 0
    validated_topology_epoch: int = -1
    last_assignment_configs: list[LastAssignmentConfig] | None = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("epoch", "int32", "0+"),
        Field("metadata_hash", "int64", "0+"),
        Field("validated_topology_epoch", "int32", "0+", tag=0, tagged="0+"),
        Field(
            "last_assignment_configs",
            "[]struct",
            "0+",
            of=LastAssignmentConfig,
            nullable="0+",
            tag=1,
            tagged="0+",
        ),
        versions="0",
        flexible="0+",
        key=17,
    )
