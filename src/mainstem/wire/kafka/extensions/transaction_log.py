"""Records of `__transaction_state`: Kafka's, with tagged fields of ours, and a kind of ours.

Kafka's tools pass over tags and kinds that they do not know.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from mainstem.wire.kafka.message import Field, Message, Schema
from mainstem.wire.kafka.records.transaction_log import TransactionLogValue


class OurTransactionLogValue(TransactionLogValue):
    last_producer_epoch: int = -1
    prepared_number: int = -1
    prepared_since_ms: int = -1

    SCHEMA: ClassVar[Schema] = Schema(
        *TransactionLogValue.SCHEMA.fields,
        Field("last_producer_epoch", "int16", "1+", tag=10000, tagged="1+"),
        Field("prepared_number", "int64", "1+", tag=10001, tagged="1+"),
        Field("prepared_since_ms", "int64", "1+", tag=10002, tagged="1+"),
        versions="0-1",
        flexible="1+",
        key=0,
    )


class GroupDecisionKey(Message):
    writer: str = ""

    SCHEMA: ClassVar[Schema] = Schema(Field("writer", "string", "0"), versions="0", key=10000)


class GroupDecisionValue(Message):
    number: int = 0
    decided_ms: int = 0
    committed_suffixes: list[str] = field(default_factory=list)

    SCHEMA: ClassVar[Schema] = Schema(
        Field("number", "int64", "0+"),
        Field("decided_ms", "int64", "0+"),
        Field("committed_suffixes", "[]string", "0+"),
        versions="0",
        flexible="0+",
        key=10000,
    )
