"""Kafka: end transaction record. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Message, Schema


class EndTransactionRecord(Message):
    SCHEMA: ClassVar[Schema] = Schema(
        versions="0",
        flexible="0+",
        key=24,
    )
