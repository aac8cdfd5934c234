"""Kafka: end txn marker. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class EndTxnMarker(Message):
    coordinator_epoch: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("coordinator_epoch", "int32", "0+"),
        versions="0",
    )
