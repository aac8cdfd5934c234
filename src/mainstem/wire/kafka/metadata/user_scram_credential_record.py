"""Kafka: user scram credential record. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class UserScramCredentialRecord(Message):
    name: str = ""
    mechanism: int = 0
    salt: bytes = b""
    stored_key: bytes = b""
    server_key: bytes = b""
    iterations: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("mechanism", "int8", "0+"),
        Field("salt", "bytes", "0+"),
        Field("stored_key", "bytes", "0+"),
        Field("server_key", "bytes", "0+"),
        Field("iterations", "int32", "0+"),
        versions="0",
        flexible="0+",
        key=11,
    )
