"""What `__transaction_state` holds, in Kafka's own schema.

A key is an int16, the kind, and the key's message; a value is an int16 version and the value's message; no
value deletes what the key names.

     kind  key               value
        0  transactional id  producer id and epoch, time-out, state, partitions, times [, tagged fields]
    10000  writer            the last decision on what it prepared: number, time, committed ids

The values of kind 0 are written in version 1, which has tagged fields; versions 0 and 1 are read. Some of the
tagged fields are ours, with tags from 10000 on, and so is the kind 10000: Kafka and its tools pass over both.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mainstem.core.coordinator.record_prefix import PREFIX, kind_of, version_of
from mainstem.core.transactions.prepared import NO_NUMBER, Decision
from mainstem.core.transactions.states import TransactionState
from mainstem.core.transactions.transaction import NO_TIME, Preparation, StoredTransaction
from mainstem.core.transactions.writers import writer_key
from mainstem.model.ids import TopicPartition
from mainstem.wire.errors import WireError
from mainstem.wire.kafka.codec import decode, encode
from mainstem.wire.kafka.extensions.transaction_log import (
    GroupDecisionKey,
    GroupDecisionValue,
    OurTransactionLogValue,
)
from mainstem.wire.kafka.records.transaction_log import PartitionsSchema, TransactionLogKey

TRANSACTION_KIND: Final = 0
VALUE_VERSION: Final = 1
DECISION_KIND: Final = 10_000
DECISION_VERSION: Final = 0

_KEY_PREFIX = PREFIX.pack(TRANSACTION_KIND)
_VALUE_PREFIX = PREFIX.pack(VALUE_VERSION)
_DECISION_KEY_PREFIX = PREFIX.pack(DECISION_KIND)
_DECISION_VALUE_PREFIX = PREFIX.pack(DECISION_VERSION)


class TransactionRecord(NamedTuple):
    transactional_id: str
    value: StoredTransaction | None


class DecisionRecord(NamedTuple):
    writer: str
    value: Decision | None


TransactionsRecord = TransactionRecord | DecisionRecord


def encode_record(record: TransactionsRecord) -> tuple[bytes, bytes | None]:
    if type(record) is DecisionRecord:
        key = _DECISION_KEY_PREFIX + encode(GroupDecisionKey(writer=record.writer), 0)
        return key, None if record.value is None else _encode_decision(record.writer, record.value)
    assert type(record) is TransactionRecord
    key = _KEY_PREFIX + encode(TransactionLogKey(transactional_id=record.transactional_id), 0)
    return key, None if record.value is None else _encode_value(record.value)


def _encode_value(stored: StoredTransaction) -> bytes:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(stored.partitions):
        by_topic.setdefault(topic, []).append(partition)
    partitions = [PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in by_topic.items()]
    prepared = stored.prepared
    message = OurTransactionLogValue(
        producer_id=stored.producer_id,
        previous_producer_id=stored.previous_producer_id,
        next_producer_id=stored.next_producer_id,
        producer_epoch=stored.producer_epoch,
        transaction_timeout_ms=stored.timeout_ms,
        transaction_status=int(stored.state),
        # as Kafka has it: without a transaction there is no list, not even an empty one
        transaction_partitions=None if stored.state is TransactionState.EMPTY else partitions,
        transaction_last_update_timestamp_ms=stored.update_ms,
        transaction_start_timestamp_ms=stored.start_ms,
        client_transaction_version=stored.protocol,
        last_producer_epoch=stored.last_producer_epoch,
        prepared_number=NO_NUMBER if prepared is None else prepared.number,
        prepared_since_ms=NO_TIME if prepared is None else prepared.since_ms,
    )
    return _VALUE_PREFIX + encode(message, VALUE_VERSION)


def _encode_decision(writer: str, decision: Decision) -> bytes:
    prefix_length = len(writer_key(writer))
    message = GroupDecisionValue(
        number=decision.number,
        decided_ms=decision.decided_ms,
        committed_suffixes=sorted(each[prefix_length:] for each in decision.committed),
    )
    return _DECISION_VALUE_PREFIX + encode(message, DECISION_VERSION)


def decode_record(key: bytes, value: bytes | memoryview | None) -> TransactionsRecord | None:
    """Nothing for a kind, a version or bytes that we do not know: a newer broker may have written them."""
    try:
        kind = kind_of(key)
        if kind == DECISION_KIND:
            decided, _ = decode(GroupDecisionKey, 0, key, 2)
            writer = decided.writer
            return DecisionRecord(writer, None if value is None else _decode_decision(writer, value))
        if kind != TRANSACTION_KIND:
            return None
        message, _ = decode(TransactionLogKey, 0, key, 2)
        return TransactionRecord(message.transactional_id, None if value is None else _decode_value(value))
    except (WireError, ValueError):
        return None


def _decode_decision(writer: str, value: bytes | memoryview) -> Decision:
    message, _ = decode(GroupDecisionValue, version_of(value), value, 2)
    prefix = writer_key(writer)
    return Decision(
        message.number, message.decided_ms, frozenset(prefix + each for each in message.committed_suffixes)
    )


def _decode_value(value: bytes | memoryview) -> StoredTransaction:
    message, _ = decode(OurTransactionLogValue, version_of(value), value, 2)
    is_prepared = message.prepared_number != NO_NUMBER
    return StoredTransaction(
        producer_id=message.producer_id,
        producer_epoch=message.producer_epoch,
        timeout_ms=message.transaction_timeout_ms,
        state=TransactionState(message.transaction_status),
        update_ms=message.transaction_last_update_timestamp_ms,
        start_ms=message.transaction_start_timestamp_ms,
        partitions=frozenset(
            TopicPartition(each.topic, partition)
            for each in message.transaction_partitions or ()
            for partition in each.partition_ids
        ),
        protocol=message.client_transaction_version,
        last_producer_epoch=message.last_producer_epoch,
        previous_producer_id=message.previous_producer_id,
        next_producer_id=message.next_producer_id,
        prepared=Preparation(message.prepared_number, message.prepared_since_ms) if is_prepared else None,
    )
