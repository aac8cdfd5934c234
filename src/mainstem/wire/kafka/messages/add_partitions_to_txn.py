"""Kafka: add partitions to txn. Derived by tools/derive_kafka_schemas.py, not by hand."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema


class AddPartitionsToTxnTopic(Message):
    name: str = ""
    partitions: list[int] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("partitions", "[]int32", "0+"),
    )


class AddPartitionsToTxnTransaction(Message):
    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    verify_only: bool = False
    topics: list[AddPartitionsToTxnTopic] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("transactional_id", "string", "4+"),
        Field("producer_id", "int64", "4+"),
        Field("producer_epoch", "int16", "4+"),
        Field("verify_only", "bool", "4+"),
        Field("topics", "[]struct", "4+", of=AddPartitionsToTxnTopic),
    )


class AddPartitionsToTxnRequest(Message):
    transactions: list[AddPartitionsToTxnTransaction] = field(default_factory=list)
    v3_and_below_transactional_id: str = ""
    v3_and_below_producer_id: int = 0
    v3_and_below_producer_epoch: int = 0
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("transactions", "[]struct", "4+", of=AddPartitionsToTxnTransaction),
        Field("v3_and_below_transactional_id", "string", "0-3"),
        Field("v3_and_below_producer_id", "int64", "0-3"),
        Field("v3_and_below_producer_epoch", "int16", "0-3"),
        Field("v3_and_below_topics", "[]struct", "0-3", of=AddPartitionsToTxnTopic),
        versions="0-5",
        flexible="3+",
        key=24,
    )


class AddPartitionsToTxnPartitionResult(Message):
    partition_index: int = 0
    partition_error_code: int = 0

    SCHEMA: ClassVar[Schema] = Schema(
        Field("partition_index", "int32", "0+"),
        Field("partition_error_code", "int16", "0+"),
    )


class AddPartitionsToTxnTopicResult(Message):
    name: str = ""
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("name", "string", "0+"),
        Field("results_by_partition", "[]struct", "0+", of=AddPartitionsToTxnPartitionResult),
    )


class AddPartitionsToTxnResult(Message):
    transactional_id: str = ""
    topic_results: list[AddPartitionsToTxnTopicResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("transactional_id", "string", "4+"),
        Field("topic_results", "[]struct", "4+", of=AddPartitionsToTxnTopicResult),
    )


class AddPartitionsToTxnResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    results_by_transaction: list[AddPartitionsToTxnResult] = field(default_factory=list)
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "4+", ignorable=True),
        Field("results_by_transaction", "[]struct", "4+", of=AddPartitionsToTxnResult),
        Field("results_by_topic_v3_and_below", "[]struct", "0-3", of=AddPartitionsToTxnTopicResult),
        versions="0-5",
        flexible="3+",
        key=24,
    )
