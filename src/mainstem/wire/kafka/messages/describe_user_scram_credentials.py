"""Kafka: describe user scram credentials. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class UserName(Message):
    name: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
    )


class DescribeUserScramCredentialsRequest(Message):
    users: list[UserName] | None = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("users", "[]struct", "0+", of=UserName, nullable="0+"),
        versions="0",
        flexible="0+",
        key=50,
    )


class CredentialInfo(Message):
    mechanism: int = 0
    iterations: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("mechanism", "int8", "0+"),
        Field("iterations", "int32", "0+"),
    )


class DescribeUserScramCredentialsResult(Message):
    user: str = ""
    error_code: int = 0
    error_message: str | None = ""
    credential_infos: list[CredentialInfo] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("user", "string", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("credential_infos", "[]struct", "0+", of=CredentialInfo),
    )


class DescribeUserScramCredentialsResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    results: list[DescribeUserScramCredentialsResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("results", "[]struct", "0+", of=DescribeUserScramCredentialsResult),
        versions="0",
        flexible="0+",
        key=50,
    )
