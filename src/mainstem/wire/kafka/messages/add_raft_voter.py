"""Kafka: add raft voter. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class Listener(Message):
    name: str = ""
    host: str = ""
    port: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("host", "string", "0+"),
        Field("port", "uint16", "0+"),
    )


class AddRaftVoterRequest(Message):
    cluster_id: str | None = ""
    timeout_ms: int = 0
    voter_id: int = 0
    voter_directory_id: bytes = ZERO_UUID
    listeners: list[Listener] = field(default_factory=list)
    ack_when_committed: bool = True

    SCHEMA: ClassVar[Schema] = Schema(
        Field("cluster_id", "string", "0+", nullable="0+"),
        Field("timeout_ms", "int32", "0+"),
        Field("voter_id", "int32", "0+"),
        Field("voter_directory_id", "uuid", "0+"),
        Field("listeners", "[]struct", "0+", of=Listener),
        Field("ack_when_committed", "bool", "1+"),
        versions="0-1",
        flexible="0+",
        key=80,
    )


class AddRaftVoterResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+", ignorable=True),
        versions="0-1",
        flexible="0+",
        key=80,
    )
