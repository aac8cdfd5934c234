"""Kafka: create delegation token. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class CreatableRenewers(Message):
    principal_type: str = ""
    principal_name: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("principal_type", "string", "0+"),
        Field("principal_name", "string", "0+"),
    )


class CreateDelegationTokenRequest(Message):
    owner_principal_type: str | None = ""
    owner_principal_name: str | None = ""
    renewers: list[CreatableRenewers] = field(default_factory=list)
    max_lifetime_ms: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("owner_principal_type", "string", "3+", nullable="3+"),
        Field("owner_principal_name", "string", "3+", nullable="3+"),
        Field("renewers", "[]struct", "0+", of=CreatableRenewers),
        Field("max_lifetime_ms", "int64", "0+"),
        versions="1-3",
        flexible="2+",
        key=38,
    )


class CreateDelegationTokenResponse(Message):
    error_code: int = 0
    principal_type: str = ""
    principal_name: str = ""
    token_requester_principal_type: str = ""
    token_requester_principal_name: str = ""
    issue_timestamp_ms: int = 0
    expiry_timestamp_ms: int = 0
    max_timestamp_ms: int = 0
    token_id: str = ""
    hmac: bytes = b""
    throttle_time_ms: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("principal_type", "string", "0+"),
        Field("principal_name", "string", "0+"),
        Field("token_requester_principal_type", "string", "3+"),
        Field("token_requester_principal_name", "string", "3+"),
        Field("issue_timestamp_ms", "int64", "0+"),
        Field("expiry_timestamp_ms", "int64", "0+"),
        Field("max_timestamp_ms", "int64", "0+"),
        Field("token_id", "string", "0+"),
        Field("hmac", "bytes", "0+"),
        Field("throttle_time_ms", "int32", "0+"),
        versions="1-3",
        flexible="2+",
        key=38,
    )
