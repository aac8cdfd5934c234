"""Every change of a transactional id: functions from what is stored and what is asked to what is stored next.

    state            init              add              end              all markers written   overdue   idle
    ---------------  ----------------  ---------------  ---------------  --------------------  --------  ----
    (none)           EMPTY             -                -
    EMPTY            EMPTY             ONGOING          abort, 2nd only                                  gone
    ONGOING          PREPARE_ABORT *   ONGOING          PREPARE_x                              abort *
    PREPARE_x        later             later            later, or -      COMPLETE_x
    COMPLETE_x       EMPTY             ONGOING          repeat, abort °                                  gone

`*` fences: the epoch grows without anybody being told, so the producer is refused from then on. `-` is an
error that tells the producer that it asks for what cannot be. `later` is ConcurrentTransactions: the client
asks again, and finds the markers written. `°`: in the second protocol a transaction that got no partition is
aborted all the same, since its producer cannot know whether it did. A prepared transaction is ONGOING too,
and out of its producer's hands: see `prepared.py`.

Nothing here has effects; nothing here looks at a clock.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from mainstem.core.errors import (
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    InvalidTransactionState,
    ProducerFenced,
)
from mainstem.core.transactions.states import ENDING, TransactionState, state_name
from mainstem.core.transactions.transaction import (
    LAST_EPOCH,
    MAX_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    NO_TIME,
    SECOND_PROTOCOL,
    StoredTransaction,
)
from mainstem.model.ids import TopicPartition

_NO_PARTITIONS: frozenset[TopicPartition] = frozenset()


class ProducerIdNeeded(Exception):
    """The change gives the transactional id a new producer id: ask again with one."""


class ProducerIdentity(NamedTuple):
    producer_id: int
    epoch: int


def _fresh(producer_id: int | None) -> int:
    if producer_id is None:
        raise ProducerIdNeeded
    return producer_id


def _is_due_to_become(stored: StoredTransaction, producer: ProducerIdentity) -> bool:
    """It was told its new producer id already, and comes before the markers are written."""
    return stored.state in ENDING and producer == (stored.next_producer_id, 0)


def check_producer(stored: StoredTransaction, producer: ProducerIdentity) -> None:
    if _is_due_to_become(stored, producer):
        raise ConcurrentTransactions("the former transaction of this id is being ended")
    if producer.producer_id != stored.producer_id:
        raise InvalidProducerIdMapping(
            f"producer id {producer.producer_id} does not have this transactional id now"
        )
    if producer.epoch != stored.producer_epoch:
        raise ProducerFenced(
            f"epoch {producer.epoch} is not the newest of producer id {producer.producer_id}"
        )


# --- init


def init(
    stored: StoredTransaction | None,
    expected: ProducerIdentity | None,
    timeout_ms: int,
    now_ms: int,
    fresh_producer_id: int | None,
) -> StoredTransaction:
    """What InitProducerId makes of it. An open transaction becomes one that is being aborted."""
    if stored is None:
        return StoredTransaction(_fresh(fresh_producer_id), 0, timeout_ms, TransactionState.EMPTY, now_ms)
    if expected is not None:
        _check_expected(stored, expected)
    if stored.state in ENDING:
        raise ConcurrentTransactions("the former transaction of this id is being ended")
    if stored.is_prepared:
        raise ConcurrentTransactions("a prepared transaction of this id waits for its decision")
    if stored.state is TransactionState.ONGOING:
        return fence(stored, now_ms)
    at_rest = stored._replace(
        state=TransactionState.EMPTY,
        timeout_ms=timeout_ms,
        update_ms=now_ms,
        start_ms=NO_TIME,
        partitions=_NO_PARTITIONS,
        prepared=None,
    )
    if stored.is_exhausted and (expected is None or expected.epoch == stored.producer_epoch):
        return at_rest._replace(
            producer_id=_fresh(fresh_producer_id),
            producer_epoch=0,
            last_producer_epoch=NO_EPOCH if expected is None else stored.producer_epoch,
            previous_producer_id=stored.producer_id,
        )
    if expected is None:
        return at_rest._replace(producer_epoch=stored.producer_epoch + 1, last_producer_epoch=NO_EPOCH)
    if expected.epoch == stored.producer_epoch and expected.producer_id == stored.producer_id:
        return at_rest._replace(
            producer_epoch=stored.producer_epoch + 1, last_producer_epoch=stored.producer_epoch
        )
    if expected.epoch == stored.last_producer_epoch:  # it repeats what was done; its answer was lost
        return at_rest
    raise ProducerFenced(f"epoch {expected.epoch} of producer id {expected.producer_id} is old")


def _check_expected(stored: StoredTransaction, expected: ProducerIdentity) -> None:
    if expected.producer_id == stored.producer_id:
        return
    if expected.producer_id == stored.previous_producer_id and expected.epoch >= LAST_EPOCH:
        return
    raise ProducerFenced(f"producer id {expected.producer_id} does not have this transactional id any more")


# --- partitions


def add(
    stored: StoredTransaction | None,
    producer: ProducerIdentity,
    partitions: Collection[TopicPartition],
    protocol: int,
    now_ms: int,
) -> StoredTransaction:
    """With the partitions in its open transaction, which begins here if there is none."""
    stored = known(stored)
    check_producer(stored, producer)
    if stored.state in ENDING:
        raise ConcurrentTransactions("the former transaction of this id is being ended")
    _check_not_prepared(stored)
    if stored.state is TransactionState.ONGOING:
        if stored.partitions.issuperset(partitions):
            return stored
        return stored._replace(
            partitions=stored.partitions.union(partitions), protocol=protocol, update_ms=now_ms
        )
    return stored._replace(
        state=TransactionState.ONGOING,
        partitions=frozenset(partitions),
        protocol=protocol,
        start_ms=now_ms,
        update_ms=now_ms,
        prepared=None,
    )


def check_open(stored: StoredTransaction | None, producer: ProducerIdentity) -> frozenset[TopicPartition]:
    """The partitions of the producer's transaction; none if it has none."""
    stored = known(stored)
    check_producer(stored, producer)
    if stored.state in ENDING:
        raise ConcurrentTransactions("the transaction is being ended")
    _check_not_prepared(stored)
    return stored.partitions


def _check_not_prepared(stored: StoredTransaction) -> None:
    if stored.is_prepared:
        raise InvalidTransactionState("the transaction is prepared: only its writer's decision ends it")


def known(stored: StoredTransaction | None) -> StoredTransaction:
    if stored is None:
        raise InvalidProducerIdMapping("the transactional id is not known: initialize it first")
    return stored


# --- the end


def end(
    stored: StoredTransaction | None,
    producer: ProducerIdentity,
    is_commit: bool,
    protocol: int,
    now_ms: int,
    fresh_producer_id: int | None,
) -> StoredTransaction:
    """What EndTxn makes of it: the same again where it was done before, and only the answer was lost."""
    stored = known(stored)
    if protocol >= SECOND_PROTOCOL:
        return _end_second(stored, producer, is_commit, now_ms, fresh_producer_id)
    check_producer(stored, producer)
    _check_not_prepared(stored)
    if stored.state is TransactionState.ONGOING:
        return _ending(stored, is_commit, now_ms)
    if stored.state in ENDING and stored.is_commit == is_commit:
        raise ConcurrentTransactions("the transaction is being ended")
    if (
        stored.state is not TransactionState.EMPTY
        and stored.state not in ENDING
        and stored.is_commit == is_commit
    ):
        return stored
    raise _unfit(stored, is_commit)


def _end_second(
    stored: StoredTransaction,
    producer: ProducerIdentity,
    is_commit: bool,
    now_ms: int,
    fresh_producer_id: int | None,
) -> StoredTransaction:
    """In the second protocol the end raised the epoch, so the epoch tells a repeat from a new request."""
    is_repeat = _repeats_end(stored, producer)
    if stored.state in ENDING:
        if is_repeat and stored.is_commit == is_commit:
            raise ConcurrentTransactions("the transaction is being ended")
        if is_repeat:
            raise _unfit(stored, is_commit)
        check_producer(stored, producer)
        raise ConcurrentTransactions("the former transaction of this id is being ended")
    if stored.state is TransactionState.EMPTY or stored.state is TransactionState.ONGOING:
        is_repeat = False
    if is_repeat:
        if stored.is_commit == is_commit:
            return stored
        raise _unfit(stored, is_commit)
    check_producer(stored, producer)
    _check_not_prepared(stored)
    if stored.state is not TransactionState.ONGOING:
        if is_commit:
            raise _unfit(stored, is_commit)
        stored = stored._replace(start_ms=now_ms, prepared=None)
    rotated = _fresh(fresh_producer_id) if stored.is_exhausted else NO_PRODUCER_ID
    return _ending(stored, is_commit, now_ms)._replace(
        producer_epoch=stored.producer_epoch + 1,
        last_producer_epoch=stored.producer_epoch,
        next_producer_id=rotated,
        protocol=SECOND_PROTOCOL,
    )


def _repeats_end(stored: StoredTransaction, producer: ProducerIdentity) -> bool:
    if producer.producer_id == stored.producer_id:
        return producer.epoch + 1 == stored.producer_epoch
    return (
        producer == (stored.previous_producer_id, LAST_EPOCH)
        and stored.producer_epoch == 0
        and stored.state not in ENDING
    )


def _ending(stored: StoredTransaction, is_commit: bool, now_ms: int) -> StoredTransaction:
    state = TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT
    return stored._replace(state=state, update_ms=now_ms)


def fence(stored: StoredTransaction, now_ms: int) -> StoredTransaction:
    """Aborts an open transaction against its producer, who is refused from now on."""
    if stored.state is not TransactionState.ONGOING:
        raise InvalidTransactionState(f"no transaction is open: its state is {state_name(stored.state)}")
    return _ending(stored, False, now_ms)._replace(
        producer_epoch=min(stored.producer_epoch + 1, MAX_EPOCH), last_producer_epoch=NO_EPOCH
    )


def complete(stored: StoredTransaction, now_ms: int) -> StoredTransaction:
    """Every partition has its marker, or is gone."""
    done = stored._replace(
        state=TransactionState.COMPLETE_COMMIT if stored.is_commit else TransactionState.COMPLETE_ABORT,
        partitions=_NO_PARTITIONS,
        update_ms=now_ms,
    )
    if stored.next_producer_id == NO_PRODUCER_ID:
        return done
    return done._replace(
        producer_id=stored.next_producer_id,
        producer_epoch=0,
        previous_producer_id=stored.producer_id,
        next_producer_id=NO_PRODUCER_ID,
    )


def told_after_end(stored: StoredTransaction) -> ProducerIdentity:
    """The identity that the producer goes on with."""
    if stored.next_producer_id != NO_PRODUCER_ID:
        return ProducerIdentity(stored.next_producer_id, 0)
    return ProducerIdentity(stored.producer_id, stored.producer_epoch)


def _unfit(stored: StoredTransaction, is_commit: bool) -> InvalidTransactionState:
    wanted = "committed" if is_commit else "aborted"
    return InvalidTransactionState(f"it cannot be {wanted}: its state is {state_name(stored.state)}")
