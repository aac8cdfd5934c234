"""The broker's options about transactions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from mainstem.config.option import Scope, declare
from mainstem.config.value import INT_MAX, Kind, Unit

_broker = partial(declare, scope=Scope.BROKER)
_MS = Unit.MILLISECONDS


@dataclass(frozen=True)
class TransactionOptions:
    """Where transactions are kept, how long they may last, and how long their ids are remembered."""

    transaction_state_log_num_partitions: int = _broker(
        "transaction.state.log.num.partitions",
        Kind.INT,
        50,
        "How many partitions __transaction_state gets when it is made. It must not change afterwards.",
        minimum=1,
        maximum=100_000,
    )
    transaction_state_log_segment_bytes: int = _broker(
        "transaction.state.log.segment.bytes",
        Kind.INT,
        104_857_600,
        "The segment size of __transaction_state; small segments make for a quick load.",
        unit=Unit.BYTES,
        minimum=1_048_576,
    )
    transaction_state_log_replication_factor: int = _broker(
        "transaction.state.log.replication.factor",
        Kind.INT,
        1,
        "How many replicas __transaction_state gets when it is made (Kafka: 3, which a single node cannot "
        "give).",
        minimum=1,
        maximum=32_767,
    )
    transaction_max_timeout_ms: int = _broker(
        "transaction.max.timeout.ms",
        Kind.INT,
        900_000,
        "The longest time-out that a producer may ask for its transactions. A transaction that is open for "
        "longer than its producer asked for is aborted.",
        unit=_MS,
        minimum=1,
    )
    transactional_id_expiration_ms: int = _broker(
        "transactional.id.expiration.ms",
        Kind.INT,
        604_800_000,
        "How long a transactional id is remembered after its last transaction ended.",
        unit=_MS,
        minimum=1,
        maximum=INT_MAX,
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = _broker(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        Kind.INT,
        10_000,
        "How often transactions that are open for too long are looked for.",
        unit=_MS,
        minimum=1,
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = _broker(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        Kind.INT,
        3_600_000,
        "How often transactional ids that nobody used for long are looked for.",
        unit=_MS,
        minimum=1,
    )
    add_partitions_to_txn_retry_backoff_max_ms: int = _broker(
        "add.partitions.to.txn.retry.backoff.max.ms",
        Kind.INT,
        100,
        "How long a request for a new transaction waits here for the end of the former one, before its "
        "client is told to ask again.",
        unit=_MS,
        minimum=0,
    )
    transaction_prepared_timeout_ms: int = _broker(
        "transaction.prepared.timeout.ms",
        Kind.LONG,
        3_600_000,
        "How long a prepared transaction waits for its writer's decision before it is aborted. Until then "
        "it holds back readers with read_committed. Mainstem's own.",
        unit=_MS,
        minimum=1,
    )
    transaction_decided_id_expiration_ms: int = _broker(
        "transaction.decided.id.expiration.ms",
        Kind.LONG,
        3_600_000,
        "How long a transactional id is remembered whose last transaction was prepared and decided: writers "
        "use many ids, each for a short time. Mainstem's own.",
        unit=_MS,
        minimum=1,
    )
    transaction_decision_retention_ms: int = _broker(
        "transaction.decision.retention.ms",
        Kind.LONG,
        31_536_000_000,
        "How long a writer's last decision is remembered. A writer that pauses for longer and then repeats "
        "its last number would be taken for a new one. Mainstem's own.",
        unit=_MS,
        minimum=1,
    )
