"""Kafka's record of a transactional id, with tagged fields of ours that its tools pass over."""

from __future__ import annotations

from typing import ClassVar

from mainstem.wire.kafka.message import Field, Schema
from mainstem.wire.kafka.records.transaction_log import TransactionLogValue


class OurTransactionLogValue(TransactionLogValue):
    last_producer_epoch: int = -1

    SCHEMA: ClassVar[Schema] = Schema(
        *TransactionLogValue.SCHEMA.fields,
        Field("last_producer_epoch", "int16", "1+", tag=10000, tagged="1+"),
        versions="0-1",
        flexible="1+",
        key=0,
    )
