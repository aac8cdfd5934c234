"""The transactional ids of one partition of `__transaction_state`.

A method whose name begins with `decide` is a decision for the runtime: it returns records and an answer, or
raises. `replay` is the only place where the replayed state changes. What a change may be is said in
`transitions.py`; here is when it is made, and what follows from it: when the record that ends a transaction
is committed, its markers are delivered, and then the record that says so is made.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import Future
from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, Final

from mainstem.core.coordinator.result import Result, answer
from mainstem.core.coordinator.runtime import ShardRuntime
from mainstem.core.errors import (
    InvalidTransactionState,
    NotCoordinator,
    TransactionalIdNotFound,
    TransactionCoordinatorFenced,
)
from mainstem.core.transactions import prepared, transitions
from mainstem.core.transactions.markers import FIRST_PAUSE_MS, LONGEST_PAUSE_MS, MarkerDelivery
from mainstem.core.transactions.ports import TransactionMarker
from mainstem.core.transactions.prepared import Decision
from mainstem.core.transactions.records import (
    DecisionRecord,
    TransactionRecord,
    TransactionsRecord,
    decode_record,
    encode_record,
)
from mainstem.core.transactions.states import AT_REST, ENDING, TransactionState
from mainstem.core.transactions.transaction import SECOND_PROTOCOL, StoredTransaction
from mainstem.core.transactions.transitions import ProducerIdentity
from mainstem.core.transactions.writers import routing_part, writer_of
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicPartition
from mainstem.ports.clock import Clock

TransactionsResult = Result[TransactionsRecord]

_FIRST_MARKER_VERSION: Final = 1
_log = logging.getLogger(__name__)


class TransactionCounters:
    """Of all shards of a node, since it started."""

    __slots__ = (
        "abandoned",
        "aborted",
        "begun",
        "committed",
        "expired_ids",
        "fenced",
        "group_decisions",
        "overdue",
    )

    def __init__(self) -> None:
        self.begun = 0
        self.committed = 0  # complete: every partition has its marker
        self.aborted = 0
        self.fenced = 0  # open transactions that were aborted against their producer
        self.overdue = 0  # of those: because their time was over
        self.expired_ids = 0
        self.group_decisions = 0
        self.abandoned = 0  # prepared, and aborted because nobody decided in time


class TransactionShard:
    def __init__(
        self, name: str, clock: Clock, delivery: MarkerDelivery, counters: TransactionCounters
    ) -> None:
        self.transactions: dict[str, StoredTransaction] = {}
        self.ongoing: dict[str, None] = {}  # those in which time runs, oldest change first
        self.state_counts: Counter[TransactionState] = Counter()
        self.decisions: dict[str, Decision] = {}  # the last one of each writer
        self.runtime: ShardRuntime[TransactionsRecord] = ShardRuntime(name, self, clock)
        self.counters = counters
        self._clock = clock
        self._delivery = delivery
        self._ends: dict[str, asyncio.Task[None]] = {}  # transactions whose markers are being delivered
        self._prepared_ids: dict[str, dict[str, None]] = {}  # by writer, until each is complete
        self._waiting: dict[str, list[Future[None]]] = {}  # for the end of a transaction

    # --- what the runtime asks of a shard

    def encode(self, record: TransactionsRecord) -> tuple[bytes, bytes | None]:
        return encode_record(record)

    def decode(self, key: bytes, value: bytes | None) -> TransactionsRecord | None:
        return decode_record(key, value)

    def replay(self, record: TransactionsRecord) -> None:
        if type(record) is DecisionRecord:
            self._replay_decision(record.writer, record.value)
        elif type(record) is TransactionRecord:
            self._put(record.transactional_id, record.value)

    def _replay_decision(self, writer: str, decision: Decision | None) -> None:
        if decision is None:
            self.decisions.pop(writer, None)
            return
        self.decisions[writer] = decision
        for transactional_id, stored in self.prepared_by(writer).items():
            ended = prepared.resolve(decision, transactional_id, stored)
            if ended is not None:
                self._put(transactional_id, ended)

    def _put(self, transactional_id: str, stored: StoredTransaction | None) -> None:
        former = self.transactions.get(transactional_id)
        if former is not None:
            self.state_counts[former.state] -= 1
        if stored is None:
            self.transactions.pop(transactional_id, None)
        else:
            self.transactions[transactional_id] = stored
            self.state_counts[stored.state] += 1
        if stored is not None and stored.state is TransactionState.ONGOING:
            self.ongoing[transactional_id] = None
        else:
            self.ongoing.pop(transactional_id, None)
        self._index_preparation(transactional_id, stored)

    def _index_preparation(self, transactional_id: str, stored: StoredTransaction | None) -> None:
        writer = writer_of(transactional_id)
        if writer is None:
            return
        if stored is not None and stored.prepared is not None and stored.state not in AT_REST:
            self._prepared_ids.setdefault(writer, {})[transactional_id] = None
            return
        ids = self._prepared_ids.get(writer)
        if ids is not None:
            ids.pop(transactional_id, None)
            if not ids:
                del self._prepared_ids[writer]

    def prepared_by(self, writer: str) -> dict[str, StoredTransaction]:
        """The writer's transactions that wait for a decision, or are being ended after one."""
        return {each: self.transactions[each] for each in self._prepared_ids.get(writer, ())}

    @property
    def writers(self) -> set[str]:
        return self.decisions.keys() | self._prepared_ids.keys()

    @property
    def prepared_count(self) -> int:
        """Those that wait for a decision."""
        return sum(self.transactions[each].is_prepared for ids in self._prepared_ids.values() for each in ids)

    def clear(self, error: Exception) -> None:  # noqa: ARG002 - who waits for an end asks again and is told
        self.transactions = {}
        self.ongoing = {}
        self.state_counts.clear()
        self.decisions = {}
        self._prepared_ids = {}
        for task in list(self._ends.values()):
            task.cancel()
        self._ends.clear()
        for transactional_id in list(self._waiting):
            self._wake(transactional_id)

    def on_loaded(self) -> None:
        """What was decided before is finished now."""
        for transactional_id, stored in self.transactions.items():
            if stored.state in ENDING:
                self._start_end(transactional_id)

    # --- decisions of producers

    def decide_init(
        self,
        transactional_id: str,
        expected: ProducerIdentity | None,
        timeout_ms: int,
        fresh_producer_id: int | None,
        waiter: Future[StoredTransaction],
    ) -> TransactionsResult:
        stored = self.transactions.get(transactional_id)
        changed = transitions.init(stored, expected, timeout_ms, self._clock.now_ms(), fresh_producer_id)
        if changed.state in ENDING:
            self.counters.fenced += 1
        return self._change(transactional_id, changed, waiter, changed)

    def decide_add(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: Collection[TopicPartition],
        protocol: int,
        waiter: Future[None],
    ) -> TransactionsResult:
        stored = self.transactions.get(transactional_id)
        changed = transitions.add(stored, producer, partitions, protocol, self._clock.now_ms())
        if changed is stored:
            return TransactionsResult(waiter=waiter)
        if stored is not None and stored.state is not TransactionState.ONGOING:
            self.counters.begun += 1
        return self._change(transactional_id, changed, waiter, None)

    def decide_end(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        is_commit: bool,
        protocol: int,
        fresh_producer_id: int | None,
        waiter: Future[ProducerIdentity],
    ) -> TransactionsResult:
        stored = self.transactions.get(transactional_id)
        changed = transitions.end(
            stored, producer, is_commit, protocol, self._clock.now_ms(), fresh_producer_id
        )
        told = transitions.told_after_end(changed)
        if changed is stored:  # done before; only the answer was lost
            return TransactionsResult(waiter=waiter, response=told)
        return self._change(transactional_id, changed, waiter, told)

    def _change(
        self, transactional_id: str, changed: StoredTransaction, waiter: Future[Any], response: object
    ) -> TransactionsResult:
        settled = partial(self._on_decided, transactional_id) if changed.state in ENDING else None
        return TransactionsResult(
            [TransactionRecord(transactional_id, changed)], waiter=waiter, response=response, settled=settled
        )

    def decide_abort(self, transactional_id: str, waiter: Future[None]) -> TransactionsResult:
        """For an operator: against the producer, as when its time is over."""
        stored = self.transactions.get(transactional_id)
        if stored is None:
            raise TransactionalIdNotFound(f"there is no transactional id {transactional_id}")
        if stored.prepared is not None and stored.is_prepared:
            raise InvalidTransactionState(
                f"it is prepared under {stored.prepared.number}: only its writer's decision ends it"
            )
        changed = transitions.fence(stored, self._clock.now_ms())
        self.counters.fenced += 1
        return self._change(transactional_id, changed, waiter, None)

    # --- prepared transactions

    def decide_prepare(
        self, transactional_id: str, producer: ProducerIdentity, number: int, waiter: Future[None]
    ) -> TransactionsResult:
        stored = self.transactions.get(transactional_id)
        decision = self.decisions.get(writer_of(transactional_id) or "")
        changed = prepared.prepare(stored, decision, transactional_id, producer, number, self._clock.now_ms())
        if changed is stored:
            return TransactionsResult(waiter=waiter)
        return self._change(transactional_id, changed, waiter, None)

    def decide_group(
        self, writer: str, number: int, committed: Collection[str], waiter: Future[Decision]
    ) -> TransactionsResult:
        """One decision on everything that the writer prepared under the number."""
        last = self.decisions.get(writer)
        mine = self.prepared_by(writer)
        decision = prepared.decide(last, writer, number, committed, mine, self._clock.now_ms())
        if decision is last:
            return TransactionsResult(waiter=waiter, response=decision)
        self.counters.group_decisions += 1
        return TransactionsResult(
            [DecisionRecord(writer, decision)],
            waiter=waiter,
            response=decision,
            settled=partial(self._on_group_decided, tuple(mine)),
        )

    def _on_group_decided(self, transactional_ids: Sequence[str], error: Exception | None) -> None:
        for transactional_id in transactional_ids:
            self._on_decided(transactional_id, error)

    def decide_abandon(self, transactional_id: str, now_ms: int, patience_ms: int) -> TransactionsResult:
        """Aborts what was prepared so long ago that nobody will decide on it."""
        stored = self.transactions.get(transactional_id)
        if stored is None or not stored.is_prepared or stored.prepared is None:
            return TransactionsResult()
        if stored.prepared.since_ms + patience_ms > now_ms:
            return TransactionsResult()
        self.counters.abandoned += 1
        _log.warning(
            "transactional id %s: prepared under %d since %d ms, and not decided: aborted",
            transactional_id,
            stored.prepared.number,
            now_ms - stored.prepared.since_ms,
        )
        record = TransactionRecord(transactional_id, prepared.abandon(stored, now_ms))
        return TransactionsResult([record], settled=partial(self._on_decided, transactional_id))

    def decide_forget_writer(self, writer: str, now_ms: int, kept_ms: int) -> TransactionsResult:
        decision = self.decisions.get(writer)
        if decision is None or writer in self._prepared_ids or decision.decided_ms + kept_ms > now_ms:
            return TransactionsResult()
        return TransactionsResult([DecisionRecord(writer, None)])

    # --- decisions of time

    def decide_overdue(self, transactional_id: str, now_ms: int) -> TransactionsResult:
        """Aborts the transaction if it is open for longer than its producer wanted."""
        stored = self.transactions.get(transactional_id)
        if stored is None or stored.state is not TransactionState.ONGOING or stored.is_prepared:
            return TransactionsResult()
        if stored.overdue_ms > now_ms:
            return TransactionsResult()
        self.counters.fenced += 1
        self.counters.overdue += 1
        _log.info(
            "transactional id %s: open since %d ms, longer than its time-out of %d ms: aborted",
            transactional_id,
            now_ms - stored.start_ms,
            stored.timeout_ms,
        )
        record = TransactionRecord(transactional_id, transitions.fence(stored, now_ms))
        return TransactionsResult([record], settled=partial(self._on_decided, transactional_id))

    def decide_expire(self, transactional_id: str, now_ms: int, kept_ms: int) -> TransactionsResult:
        """Forgets an id that nobody used for so long."""
        stored = self.transactions.get(transactional_id)
        if stored is None or stored.state not in AT_REST or stored.update_ms + kept_ms > now_ms:
            return TransactionsResult()
        self.counters.expired_ids += 1
        return TransactionsResult([TransactionRecord(transactional_id, None)])

    # --- the end of a transaction

    def _on_decided(self, transactional_id: str, error: Exception | None) -> None:
        if error is None:
            self._start_end(transactional_id)

    def _start_end(self, transactional_id: str) -> None:
        stored = self.transactions.get(transactional_id)
        if stored is None or stored.state not in ENDING or transactional_id in self._ends:
            return
        task = asyncio.get_running_loop().create_task(
            self._end(transactional_id, stored), name=f"end transaction {transactional_id}"
        )
        self._ends[transactional_id] = task
        task.add_done_callback(partial(self._ended, transactional_id))

    def _ended(self, transactional_id: str, task: asyncio.Task[None]) -> None:
        if self._ends.get(transactional_id) is task:
            del self._ends[transactional_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("transactional id %s: its end failed", transactional_id, exc_info=error)

    async def _end(self, transactional_id: str, stored: StoredTransaction) -> None:
        marker = TransactionMarker(
            stored.producer_id,
            stored.producer_epoch,
            self.runtime.epoch,
            stored.is_commit,
            stored.partitions,
            SECOND_PROTOCOL if stored.protocol >= SECOND_PROTOCOL else _FIRST_MARKER_VERSION,
        )
        try:
            await self._delivery.deliver(transactional_id, marker)
        except TransactionCoordinatorFenced as error:
            _log.warning("transactional id %s is coordinated elsewhere: %s", transactional_id, error)
            return
        pause_ms = FIRST_PAUSE_MS
        while True:
            written: Future[None] = asyncio.get_running_loop().create_future()
            try:
                self.runtime.run(
                    scope_of(transactional_id),
                    partial(self._decide_complete, transactional_id, stored, written),
                )
                await written
                return
            except NotCoordinator:
                return
            except MainstemError as error:
                _log.warning("transactional id %s: its end is not written yet: %s", transactional_id, error)
            await self._delivery.pause(pause_ms)
            pause_ms = min(2 * pause_ms, LONGEST_PAUSE_MS)

    def _decide_complete(
        self, transactional_id: str, ended: StoredTransaction, waiter: Future[None]
    ) -> TransactionsResult:
        stored = self.transactions.get(transactional_id)
        if stored != ended:  # it was written, and only the news of it was lost
            return TransactionsResult(waiter=waiter)
        done = transitions.complete(stored, self._clock.now_ms())
        return TransactionsResult(
            [TransactionRecord(transactional_id, done)],
            waiter=waiter,
            applied=partial(self._on_complete, transactional_id, stored.is_commit),
        )

    def _on_complete(self, transactional_id: str, is_commit: bool) -> None:
        if is_commit:
            self.counters.committed += 1
        else:
            self.counters.aborted += 1
        self._wake(transactional_id)

    # --- who waits for an end

    async def wait_for_end(self, transactional_id: str, wait_ms: float) -> None:
        """Returns when the transaction that is being ended is complete, or after this time."""
        stored = self.transactions.get(transactional_id)
        if stored is None or stored.state not in ENDING or wait_ms <= 0:
            return
        woken: Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(transactional_id, []).append(woken)
        timer = self._clock.call_later(wait_ms, lambda: answer(woken, None))
        try:
            await woken
        finally:
            timer.cancel()
            waiting = self._waiting.get(transactional_id)
            if waiting is not None and woken in waiting:
                waiting.remove(woken)
                if not waiting:
                    del self._waiting[transactional_id]

    def _wake(self, transactional_id: str) -> None:
        for woken in self._waiting.pop(transactional_id, ()):
            answer(woken, None)


def scope_of(transactional_id: str) -> str:
    """What decisions about it must see of each other: all of its writer's do."""
    return routing_part(transactional_id)
