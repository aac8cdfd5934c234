"""Kafka: describe delegation token. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class DescribeDelegationTokenOwner(Message):
    principal_type: str = ""
    principal_name: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("principal_type", "string", "0+"),
        Field("principal_name", "string", "0+"),
    )


class DescribeDelegationTokenRequest(Message):
    owners: list[DescribeDelegationTokenOwner] | None = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("owners", "[]struct", "0+", of=DescribeDelegationTokenOwner, nullable="0+"),
        versions="1-3",
        flexible="2+",
        key=41,
    )


class DescribedDelegationTokenRenewer(Message):
    principal_type: str = ""
    principal_name: str = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("principal_type", "string", "0+"),
        Field("principal_name", "string", "0+"),
    )


class DescribedDelegationToken(Message):
    principal_type: str = ""
    principal_name: str = ""
    token_requester_principal_type: str = ""
    token_requester_principal_name: str = ""
    issue_timestamp: int = 0
    expiry_timestamp: int = 0
    max_timestamp: int = 0
    token_id: str = ""
    hmac: bytes = b""
    renewers: list[DescribedDelegationTokenRenewer] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("principal_type", "string", "0+"),
        Field("principal_name", "string", "0+"),
        Field("token_requester_principal_type", "string", "3+"),
        Field("token_requester_principal_name", "string", "3+"),
        Field("issue_timestamp", "int64", "0+"),
        Field("expiry_timestamp", "int64", "0+"),
        Field("max_timestamp", "int64", "0+"),
        Field("token_id", "string", "0+"),
        Field("hmac", "bytes", "0+"),
        Field("renewers", "[]struct", "0+", of=DescribedDelegationTokenRenewer),
    )


class DescribeDelegationTokenResponse(Message):
    error_code: int = 0
    tokens: list[DescribedDelegationToken] = field(default_factory=list)
    throttle_time_ms: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("error_code", "int16", "0+"),
        Field("tokens", "[]struct", "0+", of=DescribedDelegationToken),
        Field("throttle_time_ms", "int32", "0+"),
        versions="1-3",
        flexible="2+",
        key=41,
    )
