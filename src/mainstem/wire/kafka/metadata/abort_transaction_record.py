"""Kafka: abort transaction record. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class AbortTransactionRecord(Message):
    reason: str | None = None

    SCHEMA: ClassVar[Schema] = Schema(
        Field("reason", "string", "0+", nullable="0+", tag=0, tagged="0+"),
        versions="0",
        flexible="0+",
        key=25,
    )
