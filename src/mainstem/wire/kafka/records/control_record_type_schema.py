"""Kafka: control record type schema. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class ControlRecordTypeSchema(Message):
    type: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("type", "int16", "0+"),
        versions="0",
    )
