"""Kafka: remove user scram credential record. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class RemoveUserScramCredentialRecord(Message):
    name: str = ""
    mechanism: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("mechanism", "int8", "0+"),
        versions="0",
        flexible="0+",
        key=22,
    )
