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

    @classmethod
    def of(cls, broker: BrokerConfig) -> TransactionConfig:
        return cls(
            max_timeout_ms=broker.transaction_max_timeout_ms,
            id_expiration_ms=broker.transactional_id_expiration_ms,
            overdue_check_interval_ms=broker.transaction_abort_timed_out_transaction_cleanup_interval_ms,
            expiry_check_interval_ms=broker.transaction_remove_expired_transaction_cleanup_interval_ms,
            end_wait_ms=broker.add_partitions_to_txn_retry_backoff_max_ms,
        )
