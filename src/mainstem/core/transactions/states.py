"""The states of a transactional id, under Kafka's numbers and names."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class TransactionState(IntEnum):
    EMPTY = 0  # the id exists, it has no transaction
    ONGOING = 1
    PREPARE_COMMIT = 2  # decided; markers are being written
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4  # every partition has its marker
    COMPLETE_ABORT = 5
    DEAD = 6  # Kafka's, between expiry and tombstone; not used here
    PREPARE_EPOCH_FENCE = 7  # Kafka's, between two of its writes; not used here


ENDING: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
AT_REST: Final = frozenset(
    {TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}
)

_NAMES: Final = {
    TransactionState.EMPTY: "Empty",
    TransactionState.ONGOING: "Ongoing",
    TransactionState.PREPARE_COMMIT: "PrepareCommit",
    TransactionState.PREPARE_ABORT: "PrepareAbort",
    TransactionState.COMPLETE_COMMIT: "CompleteCommit",
    TransactionState.COMPLETE_ABORT: "CompleteAbort",
    TransactionState.DEAD: "Dead",
    TransactionState.PREPARE_EPOCH_FENCE: "PrepareEpochFence",
}
_BY_NAME: Final = {name: state for state, name in _NAMES.items()}


def state_name(state: TransactionState) -> str:
    return _NAMES[state]


def state_by_name(name: str) -> TransactionState | None:
    return _BY_NAME.get(name)
