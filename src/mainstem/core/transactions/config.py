"""The options of the transaction coordinator, already resolved."""

from __future__ import annotations

from dataclasses import dataclass

from mainstem.config.broker import BrokerConfig


@dataclass(frozen=True, slots=True)
class TransactionConfig:
    """Defaults are Kafka's; the option that each comes from is named beside it."""

    max_timeout_ms: int = 900_000  # transaction.max.timeout.ms
    id_expiration_ms: int = 604_800_000  # transactional.id.expiration.ms
    overdue_check_interval_ms: int = 10_000  # transaction.abort.timed.out.transaction.cleanup.interval.ms
    expiry_check_interval_ms: int = 3_600_000  # transaction.remove.expired.transaction.cleanup.interval.ms
    end_wait_ms: int = 100  # add.partitions.to.txn.retry.backoff.max.ms

    prepared_timeout_ms: int = 3_600_000  # transaction.prepared.timeout.ms
    decided_id_expiration_ms: int = 3_600_000  # transaction.decided.id.expiration.ms
    decision_retention_ms: int = 31_536_000_000  # transaction.decision.retention.ms

    @classmethod
    def of(cls, broker: BrokerConfig) -> TransactionConfig:
        return cls(
            max_timeout_ms=broker.transaction_max_timeout_ms,
            id_expiration_ms=broker.transactional_id_expiration_ms,
            overdue_check_interval_ms=broker.transaction_abort_timed_out_transaction_cleanup_interval_ms,
            expiry_check_interval_ms=broker.transaction_remove_expired_transaction_cleanup_interval_ms,
            end_wait_ms=broker.add_partitions_to_txn_retry_backoff_max_ms,
            prepared_timeout_ms=broker.transaction_prepared_timeout_ms,
            decided_id_expiration_ms=broker.transaction_decided_id_expiration_ms,
            decision_retention_ms=broker.transaction_decision_retention_ms,
        )
