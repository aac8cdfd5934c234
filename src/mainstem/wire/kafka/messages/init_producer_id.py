"""Kafka: init producer id. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Message, Schema


class InitProducerIdRequest(Message):
    transactional_id: str | None = ""
    transaction_timeout_ms: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    enable2_pc: bool = False
    keep_prepared_txn: bool = False

    SCHEMA: ClassVar[Schema] = Schema(
        Field("transactional_id", "string", "0+", nullable="0+"),
        Field("transaction_timeout_ms", "int32", "0+"),
        Field("producer_id", "int64", "3+"),
        Field("producer_epoch", "int16", "3+"),
        Field("enable2_pc", "bool", "6+"),
        Field("keep_prepared_txn", "bool", "6+"),
        versions="0-6",
        flexible="2+",
        key=22,
    )


class InitProducerIdResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id: int = -1
    producer_epoch: int = 0
    ongoing_txn_producer_id: int = -1
    ongoing_txn_producer_epoch: int = -1

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+", ignorable=True),
        Field("error_code", "int16", "0+"),
        Field("producer_id", "int64", "0+"),
        Field("producer_epoch", "int16", "0+"),
        Field("ongoing_txn_producer_id", "int64", "6+"),
        Field("ongoing_txn_producer_epoch", "int16", "6+"),
        versions="0-6",
        flexible="2+",
        key=22,
    )
