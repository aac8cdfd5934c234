"""Kafka: legacy offset commit. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class LegacyOffsetCommitKey(Message):
    group: str = ""
    topic: str = ""
    partition: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group", "string", "0"),
        Field("topic", "string", "0"),
        Field("partition", "int32", "0"),
        versions="0",
        key=0,
    )


class LegacyOffsetCommitValue(Message):
    offset: int = 0
    metadata: str = ""
    commit_timestamp: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("offset", "int64", "0"),
        Field("metadata", "string", "0"),
        Field("commit_timestamp", "int64", "0"),
        versions="0",
        key=0,
    )
