"""Kafka: offset commit. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class OffsetCommitKey(Message):
    group: str = ""
    topic: str = ""
    partition: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("group", "string", "0"),
        Field("topic", "string", "0"),
        Field("partition", "int32", "0"),
        versions="0",
        key=1,
    )


class OffsetCommitValue(Message):
    offset: int = 0
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp: int = 0
    expire_timestamp: int = -1
    topic_id: bytes = ZERO_UUID

    SCHEMA: ClassVar[Schema] = Schema(
        Field("offset", "int64", "0+"),
        Field("leader_epoch", "int32", "3+", ignorable=True),
        Field("metadata", "string", "0+"),
        Field("commit_timestamp", "int64", "0+"),
        Field("expire_timestamp", "int64", "1", ignorable=True),
        Field("topic_id", "uuid", "4+", tag=0, tagged="4+", ignorable=True),
        versions="0-4",
        flexible="4+",
        key=1,
    )
