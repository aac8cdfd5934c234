"""Kafka: share group metadata. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class ShareGroupMetadataKey(Message):
    group_id: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group_id", "string", "0"),
        versions="0",
        key=11,
    )


class ShareGroupMetadataValue(Message):
    epoch: int = 0
    metadata_hash: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("epoch", "int32", "0+"),
        Field("metadata_hash", "int64", "0+"),
        versions="0",
        flexible="0+",
        key=11,
    )
