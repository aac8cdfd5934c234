"""Prepared transactions, and the one decision on all that a writer prepared under a number.

A producer *prepares* its open transaction under (writer, number). From then on the transaction is open
without its producer: neither time-out nor a new producer ends it. A *decision* under the same key commits the
prepared transactions that it lists and aborts all others that the writer has prepared under this number or a
lower one. The decision is one record:

    {writer} -> number, the ids that are committed, when

Replaying it changes the state of every transaction that it is about; no other record is needed, so there is
no moment in which some are decided and others are not.

Invariants, for each writer:

1. Numbers of decisions only grow. A decision of a number that is decided, or lower, changes nothing.
2. Nothing is prepared under a number that is decided: what is prepared is always above the last decision,
   or is being ended by it.
3. A decision is made when every transaction of the one before has its markers. So when compaction drops a
   decision for the next one, each of its transactions has a later record that says how it ended.
4. A listed id is prepared under exactly this number, or the decision is refused as a whole.

All of a writer's ids are on one partition (`writers.py`), so its log orders everything that is said here.
docs/prepared-transactions.md has the table of states and what a crash leaves of each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from mainstem.core.errors import ConcurrentTransactions, InvalidRequest, InvalidTransactionState
from mainstem.core.transactions.states import ENDING, TransactionState, state_name
from mainstem.core.transactions.transaction import (
    MAX_EPOCH,
    NO_EPOCH,
    Preparation,
    StoredTransaction,
)
from mainstem.core.transactions.transitions import ProducerIdentity, check_producer, known
from mainstem.core.transactions.writers import writer_key, writer_of

NO_NUMBER: Final = -1
MAX_NUMBER: Final = 2**63 - 1
MAX_DECISION_BYTES: Final = 256 * 1024  # of the listed ids, without the writer


class Decision(NamedTuple):
    """The last one of a writer."""

    number: int
    decided_ms: int
    committed: frozenset[str]  # transactional ids


class AlreadyDecided(InvalidTransactionState):
    """The number is decided, or lower than one that is: nothing can be prepared under it any more."""

    def __init__(self, writer: str, number: int, decision: Decision) -> None:
        super().__init__(f"writer {writer} has decided on {decision.number}: {number} is over")
        self.decision = decision


def prepare(
    stored: StoredTransaction | None,
    decision: Decision | None,
    transactional_id: str,
    producer: ProducerIdentity,
    number: int,
    now_ms: int,
) -> StoredTransaction:
    """The open transaction, prepared; the same again where it was so before."""
    writer = writer_of(transactional_id)
    if writer is None:
        raise InvalidRequest("only a transactional id that begins with its writer in braces can be prepared")
    if not 0 <= number <= MAX_NUMBER:
        raise InvalidRequest("the number of a decision is not negative")
    stored = known(stored)
    check_producer(stored, producer)
    if decision is not None and number <= decision.number:
        raise AlreadyDecided(writer, number, decision)
    if stored.state is not TransactionState.ONGOING:
        raise InvalidTransactionState(
            f"no transaction is open that could be prepared: its state is {state_name(stored.state)}"
        )
    if stored.prepared is None:
        return stored._replace(prepared=Preparation(number, now_ms), update_ms=now_ms)
    if stored.prepared.number != number:
        raise InvalidTransactionState(f"it is prepared under {stored.prepared.number} already")
    return stored


def decide(
    last: Decision | None,
    writer: str,
    number: int,
    committed: Collection[str],
    prepared: Mapping[str, StoredTransaction],
    now_ms: int,
) -> Decision:
    """The decision to be recorded, or the last one again where that is as high.

    `prepared` is all that the writer has prepared.
    """
    if not 0 <= number <= MAX_NUMBER:
        raise InvalidRequest("the number of a decision is not negative")
    if last is not None and number <= last.number:
        return last
    _check_ids(writer, committed)
    if any(stored.state in ENDING for stored in prepared.values()):
        raise ConcurrentTransactions(f"transactions that writer {writer} prepared before are being ended")
    missing = [each for each in committed if not _is_prepared(prepared.get(each), number)]
    if missing:
        raise InvalidTransactionState(
            f"nothing is decided: {len(missing)} of {len(committed)} are not prepared under {number}, "
            f"such as {min(missing)}"
        )
    return Decision(number, now_ms, frozenset(committed))


def _check_ids(writer: str, committed: Iterable[str]) -> None:
    size_bytes = 0
    prefix = writer_key(writer)
    for transactional_id in committed:
        if not transactional_id.startswith(prefix):
            raise InvalidRequest(f"transactional id {transactional_id} does not belong to writer {writer}")
        size_bytes += 3 + len(transactional_id.encode("utf-8", "surrogatepass")) - len(prefix)
    if size_bytes > MAX_DECISION_BYTES:
        raise InvalidRequest(f"the ids of one decision take {MAX_DECISION_BYTES} bytes at most")


def _is_prepared(stored: StoredTransaction | None, number: int) -> bool:
    return stored is not None and stored.prepared is not None and stored.prepared.number == number


def resolve(decision: Decision, transactional_id: str, stored: StoredTransaction) -> StoredTransaction | None:
    """What the decision makes of a prepared transaction; None: it is not about it."""
    if stored.state is not TransactionState.ONGOING or stored.prepared is None:
        return None
    number = stored.prepared.number
    if number > decision.number:
        return None
    is_commit = number == decision.number and transactional_id in decision.committed
    return _ended(stored, is_commit, decision.decided_ms)


def abandon(stored: StoredTransaction, now_ms: int) -> StoredTransaction:
    """Aborts what nobody decided on in time."""
    return _ended(stored, False, now_ms)


def _ended(stored: StoredTransaction, is_commit: bool, now_ms: int) -> StoredTransaction:
    """Its producer, if it is still there, is kept out by the higher epoch."""
    return stored._replace(
        state=TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT,
        producer_epoch=min(stored.producer_epoch + 1, MAX_EPOCH),
        last_producer_epoch=NO_EPOCH,
        update_ms=now_ms,
    )
