"""Kafka: producer ids record. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class ProducerIdsRecord(Message):
    broker_id: int = 0
    broker_epoch: int = -1
    next_producer_id: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("broker_id", "int32", "0+"),
        Field("broker_epoch", "int64", "0+"),
        Field("next_producer_id", "int64", "0+"),
        versions="0",
        flexible="0+",
        key=15,
    )
