"""What a client of a coordinator is told when the log below it refuses."""

from __future__ import annotations

from mainstem.core.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    InvalidCommitOffsetSize,
    InvalidProducerEpoch,
    InvalidTransactionState,
    LeaderNotAvailable,
    NotCoordinator,
    NotLeaderOrFollower,
    TransactionCoordinatorFenced,
)
from mainstem.log.errors import BatchTooLarge


def coordinator_error(error: Exception) -> Exception:
    """Most make a client look for its coordinator and try again; not what is wrong with what it wrote."""
    if isinstance(error, (NotCoordinator, CoordinatorNotAvailable, CoordinatorLoadInProgress)):
        return error
    if isinstance(error, (InvalidProducerEpoch, InvalidTransactionState, TransactionCoordinatorFenced)):
        return error
    if isinstance(error, (NotLeaderOrFollower, LeaderNotAvailable)):
        return NotCoordinator(str(error))
    if isinstance(error, BatchTooLarge):
        return InvalidCommitOffsetSize(str(error))
    return CoordinatorNotAvailable(f"the coordinator's log refused: {error}")
