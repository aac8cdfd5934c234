"""Figures of transactions: how many, in which state, and how they ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from mainstem.admin.metrics.exposition import Family, by_label, counter, gauge
from mainstem.admin.node import Node
from mainstem.core.transactions.states import TransactionState, state_name

_STATES: Final = [
    state
    for state in TransactionState
    if state not in (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE)
]
_SHARD_STATES: Final = ("active", "failed", "loading")


def families(node: Node) -> Iterable[Family]:
    coordinator = node.broker.transactions
    counts = coordinator.state_counts()
    yield by_label(
        "gauge",
        "transactional_ids",
        "Transactional ids by the state of their transaction. Ongoing ones are open.",
        "state",
        {state_name(state): counts.get(state, 0) for state in _STATES},
    )
    yield gauge(
        "transactions_prepared",
        "Prepared transactions that wait for their writer's decision.",
        coordinator.prepared_count,
    )
    shards = Counter(coordinator.shard_states().values())
    yield by_label(
        "gauge",
        "transaction_coordinator_shards",
        "Partitions of __transaction_state that this node leads, by state.",
        "state",
        {state: shards[state] for state in _SHARD_STATES},
    )
    counters = coordinator.counters
    yield counter("transactions_begun_total", "Transactions begun.", counters.begun)
    yield counter("transactions_committed_total", "Transactions committed everywhere.", counters.committed)
    yield counter("transactions_aborted_total", "Transactions aborted everywhere.", counters.aborted)
    yield counter(
        "transactions_fenced_total", "Transactions aborted against their producer.", counters.fenced
    )
    yield counter("transactions_overdue_total", "Of those: open for too long.", counters.overdue)
    yield counter(
        "transaction_group_decisions_total",
        "Decisions on what a writer had prepared.",
        counters.group_decisions,
    )
    yield counter(
        "transactions_prepared_expired_total",
        "Prepared transactions aborted because nobody decided on them in time.",
        counters.abandoned,
    )
    yield counter(
        "transactional_ids_expired_total", "Transactional ids forgotten for disuse.", counters.expired_ids
    )
    yield counter(
        "transaction_marker_retries_total",
        "Rounds in which markers were written again.",
        coordinator.delivery.retries,
    )
