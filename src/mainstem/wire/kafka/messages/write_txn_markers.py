"""Kafka: write txn markers. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class WritableTxnMarkerTopic(Message):
    name: str = ""
    partition_indexes: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("partition_indexes", "[]int32", "0+"),
    )


class WritableTxnMarker(Message):
    producer_id: int = 0
    producer_epoch: int = 0
    transaction_result: bool = False
    topics: list[WritableTxnMarkerTopic] = field(default_factory=list)
    coordinator_epoch: int = 0
    transaction_version: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("producer_id", "int64", "0+"),
        Field("producer_epoch", "int16", "0+"),
        Field("transaction_result", "bool", "0+"),
        Field("topics", "[]struct", "0+", of=WritableTxnMarkerTopic),
        Field("coordinator_epoch", "int32", "0+"),
        Field("transaction_version", "int8", "2+", ignorable=True),
    )


class WriteTxnMarkersRequest(Message):
    markers: list[WritableTxnMarker] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("markers", "[]struct", "0+", of=WritableTxnMarker),
        versions="1-2",
        flexible="1+",
        key=27,
    )


class WritableTxnMarkerPartitionResult(Message):
    partition_index: int = 0
    error_code: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
    )


class WritableTxnMarkerTopicResult(Message):
    name: str = ""
    partitions: list[WritableTxnMarkerPartitionResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("partitions", "[]struct", "0+", of=WritableTxnMarkerPartitionResult),
    )


class WritableTxnMarkerResult(Message):
    producer_id: int = 0
    topics: list[WritableTxnMarkerTopicResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("producer_id", "int64", "0+"),
        Field("topics", "[]struct", "0+", of=WritableTxnMarkerTopicResult),
    )


class WriteTxnMarkersResponse(Message):
    markers: list[WritableTxnMarkerResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("markers", "[]struct", "0+", of=WritableTxnMarkerResult),
        versions="1-2",
        flexible="1+",
        key=27,
    )
