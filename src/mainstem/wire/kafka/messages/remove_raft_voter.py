"""Kafka: remove raft voter. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import ZERO_UUID, Field, Message, Schema


class RemoveRaftVoterRequest(Message):
    cluster_id: str | None = ""
    voter_id: int = 0
    voter_directory_id: bytes = ZERO_UUID

    SCHEMA: ClassVar[Schema] = Schema(
        Field("cluster_id", "string", "0+", nullable="0+"),
        Field("voter_id", "int32", "0+"),
        Field("voter_directory_id", "uuid", "0+"),
        versions="0",
        flexible="0+",
        key=81,
    )


class RemoveRaftVoterResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+", ignorable=True),
        versions="0",
        flexible="0+",
        key=81,
    )
