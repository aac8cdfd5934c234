"""What is remembered of a transactional id: a value, replaced as a whole by each record.

Epochs. A producer's epoch grows with every InitProducerId, and in the second protocol (KIP-890) with every
end of a transaction, so that whatever an older producer still sends is known to be late. An epoch has 15
bits. `LAST_EPOCH` is the highest that a producer is given; the one above it is only ever written in markers.
Who has it gets a new producer id next.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mainstem.core.transactions.states import TransactionState
from mainstem.model.ids import TopicPartition

NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1
NO_TIME: Final = -1
MAX_EPOCH: Final = 32767
LAST_EPOCH: Final = MAX_EPOCH - 1
FIRST_PROTOCOL: Final = 0
SECOND_PROTOCOL: Final = 2  # KIP-890: transaction.version 2


class Preparation(NamedTuple):
    number: int  # of the writer's decision that it waits for
    since_ms: int


class StoredTransaction(NamedTuple):
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState
    update_ms: int
    start_ms: int = NO_TIME  # of the transaction that is open or was the last
    partitions: frozenset[TopicPartition] = frozenset()  # of the open transaction; none at rest
    protocol: int = FIRST_PROTOCOL  # in which the transaction is, or was the last time
    last_producer_epoch: int = NO_EPOCH  # what a repeated InitProducerId still may show; -1: nothing may
    previous_producer_id: int = NO_PRODUCER_ID  # before the epochs ran out
    next_producer_id: int = NO_PRODUCER_ID  # while ending: the id that it will have, with epoch 0
    prepared: Preparation | None = None  # of the open transaction, or of the last one

    @property
    def is_exhausted(self) -> bool:
        """The next epoch would be one that no producer is given."""
        return self.producer_epoch >= LAST_EPOCH

    @property
    def is_prepared(self) -> bool:
        """Open, and not its producer's any more."""
        return self.prepared is not None and self.state is TransactionState.ONGOING

    @property
    def is_commit(self) -> bool:
        return self.state in (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)

    @property
    def overdue_ms(self) -> int:
        """From when on an open transaction is to be aborted."""
        return self.start_ms + self.timeout_ms
