"""Kafka: alter user scram credentials. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class ScramCredentialDeletion(Message):
    name: str = ""
    mechanism: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("mechanism", "int8", "0+"),
    )


class ScramCredentialUpsertion(Message):
    name: str = ""
    mechanism: int = 0
    iterations: int = 0
    salt: bytes = b""
    salted_password: bytes = b""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("mechanism", "int8", "0+"),
        Field("iterations", "int32", "0+"),
        Field("salt", "bytes", "0+"),
        Field("salted_password", "bytes", "0+"),
    )


class AlterUserScramCredentialsRequest(Message):
    deletions: list[ScramCredentialDeletion] = field(default_factory=list)
    upsertions: list[ScramCredentialUpsertion] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("deletions", "[]struct", "0+", of=ScramCredentialDeletion),
        Field("upsertions", "[]struct", "0+", of=ScramCredentialUpsertion),
        versions="0",
        flexible="0+",
        key=51,
    )


class AlterUserScramCredentialsResult(Message):
    user: str = ""
    error_code: int = 0
    error_message: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("user", "string", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
    )


class AlterUserScramCredentialsResponse(Message):
    throttle_time_ms: int = 0
    results: list[AlterUserScramCredentialsResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("results", "[]struct", "0+", of=AlterUserScramCredentialsResult),
        versions="0",
        flexible="0+",
        key=51,
    )
