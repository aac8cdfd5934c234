"""Transactions from the client's side: a producer that writes in them, and decisions on prepared ones.

A producer's life:

    init -> begin -> send ... flush -> commit | abort | prepare
              ^                          |        |
              +--------------------------+--------+

`prepare` gives the transaction away: it is open until `decide` is called for its writer, by whom and from
where ever, and outlives this producer. A producer that has prepared calls `init` before it begins again,
which works as soon as the decision is made. An id that can be prepared begins with its writer in braces:
`{orders-to-lake}7f3a` belongs to the writer orders-to-lake.

Every call but `send` may be repeated, and repeats itself while what stops it is passing. Nothing here is a
thread, and nothing is for several threads at once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from mainstem.client.answer_codes import INVALID_TXN_STATE, TRANSACTIONAL_ID_NOT_FOUND
from mainstem.client.cluster import ClusterClient
from mainstem.client.errors import NotDelivered, Refused, check
from mainstem.client.partition_queue import ProducerIdentity
from mainstem.client.producer import Delivery, RecordProducer, TransactionIdentity
from mainstem.model.compression import NONE
from mainstem.model.errors import PeerError
from mainstem.model.ids import TopicPartition
from mainstem.model.records import NewRecord
from mainstem.wire.kafka.extensions.decide_transactions import (
    DecideTransactionsRequest,
    DecideTransactionsResponse,
)
from mainstem.wire.kafka.extensions.describe_transaction_writers import (
    DescribeTransactionWritersRequest,
    DescribeTransactionWritersResponse,
    TransactionWriter,
)
from mainstem.wire.kafka.extensions.prepare_transaction import (
    PrepareTransactionRequest,
    PrepareTransactionResponse,
)
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from mainstem.wire.kafka.messages.end_txn import EndTxnRequest, EndTxnResponse
from mainstem.wire.kafka.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from mainstem.wire.kafka.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from mainstem.wire.kafka.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

_TRANSACTION: Final = 1  # a type of coordinator
_FENCING_TIMEOUT_MS: Final = 60_000

A = TypeVar("A", bound=Message)


class AlreadyDecided(PeerError):
    """The number, or a higher one, is decided: nothing more can be prepared under it."""

    def __init__(self, transactional_id: str, number: int, decided_number: int) -> None:
        super().__init__(
            f"{transactional_id}: {number} is over, {decided_number} is decided; abort and go on"
        )
        self.decided_number = decided_number


@dataclass(frozen=True, slots=True)
class Decision:
    number: int
    decided_time_ms: int
    committed_ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class PreparedView:
    transactional_id: str
    number: int
    since_time_ms: int
    state: str


@dataclass(frozen=True, slots=True)
class WriterView:
    writer: str
    decision: Decision | None  # its last one
    prepared: tuple[PreparedView, ...]  # what waits for the next


class TransactionSummary(NamedTuple):
    transactional_id: str
    producer_id: int
    state: str
    coordinator: int  # a node


@dataclass(frozen=True, slots=True)
class TransactionView:
    transactional_id: str
    coordinator: int
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_time_ms: int  # -1: no transaction is open
    partitions: frozenset[TopicPartition]


class TransactionalProducer:
    def __init__(
        self,
        cluster: ClusterClient,
        transactional_id: str,
        *,
        timeout_ms: int = 60_000,
        codec: int = NONE,
        batch_bytes: int = 256 * 1024,
        buffer_bytes: int = 32 * 1024 * 1024,
    ) -> None:
        self.transactional_id = transactional_id
        self.identity: ProducerIdentity | None = None
        self.written: frozenset[TopicPartition] = frozenset()  # by the open transaction, confirmed
        self._cluster = cluster
        self._timeout_ms = timeout_ms
        self._failure: Exception | None = None
        self._is_open = False
        self._producer = RecordProducer(
            cluster,
            codec=codec,
            batch_bytes=batch_bytes,
            buffer_bytes=buffer_bytes,
            delivery_timeout_s=timeout_ms / 1000,
            on_delivery=self._on_delivery,
        )

    def init(self) -> ProducerIdentity:
        """Takes the id over: what another producer left open is aborted, and it is refused from now on."""
        self.identity = init_transactions(self._cluster, self.transactional_id, self._timeout_ms)
        return self.identity

    def begin(self) -> None:
        """The transaction begins, at the coordinator, with its first record."""
        if self._is_open:
            raise PeerError(f"transactional id {self.transactional_id}: a transaction is open already")
        if self.identity is None:
            self.init()
        assert self.identity is not None
        self._producer.begin_transaction(TransactionIdentity(self.transactional_id, *self.identity))
        self.written = frozenset()
        self._failure = None
        self._is_open = True

    def send(self, topic: str, record: NewRecord, *, partition: int | None = None) -> None:
        self._check_open()
        self._producer.send(topic, record, partition=partition)
        self._check_delivered()

    def flush(self) -> None:
        """Returns when all that was sent is in the log; raises where something is not, and cannot be."""
        self._producer.flush()
        self._check_delivered()

    def commit(self) -> None:
        self._check_open()
        self.flush()
        self._end(is_commit=True)

    def abort(self) -> None:
        """Also of what could not be delivered."""
        self._check_open()
        self._producer.flush()
        self._end(is_commit=False)

    def prepare(self, number: int) -> bool:
        """Gives the transaction into the hands of its writer's decision of this number.

        False where nothing was written: then there is nothing to decide on, and nothing to be listed.
        Raises `AlreadyDecided` where it is too late: the transaction is still ours then, to be aborted.
        """
        self._check_open()
        self.flush()
        if not self.written:
            self._is_open = False
            return False
        assert self.identity is not None
        prepare_transaction(self._cluster, self.transactional_id, self.identity, number)
        self._is_open = False
        self.identity = None  # the decision changes it
        return True

    def close(self) -> None:
        """Lets go of the connections. A transaction that is open is left to its time-out."""
        self._producer.close()

    # ---

    def _end(self, *, is_commit: bool) -> None:
        assert self.identity is not None
        if not self.written and self._failure is None:  # the coordinator never heard of it
            self._is_open = False
            return
        self.identity = end_transaction(
            self._cluster, self.transactional_id, self.identity, is_commit=is_commit
        )
        self._is_open = False

    def _on_delivery(self, delivery: Delivery) -> None:
        if delivery.error is not None:
            self._failure = self._failure or delivery.error
        else:
            self.written |= {delivery.partition}

    def _check_open(self) -> None:
        if not self._is_open:
            raise PeerError(f"transactional id {self.transactional_id}: no transaction is open")

    def _check_delivered(self) -> None:
        if self._failure is not None:
            raise NotDelivered(
                f"transactional id {self.transactional_id}: not all was delivered, so abort: {self._failure}"
            )


# --- the calls of a producer, for who sends records in another way


def init_transactions(cluster: ClusterClient, transactional_id: str, timeout_ms: int) -> ProducerIdentity:
    """Takes the id over: what another producer left open is aborted, and it is refused from now on."""
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms)

    def attempt() -> ProducerIdentity:
        answer = ask_transaction_coordinator(cluster, transactional_id, request, InitProducerIdResponse)
        check(answer.error_code, f"transactional id {transactional_id}")
        return ProducerIdentity(answer.producer_id, answer.producer_epoch)

    return cluster.persist(attempt)


def prepare_transaction(
    cluster: ClusterClient, transactional_id: str, producer: ProducerIdentity, number: int
) -> None:
    """Gives the open transaction into the hands of its writer's decision of this number."""
    request = PrepareTransactionRequest(
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        number=number,
    )

    def attempt() -> None:
        answer = ask_transaction_coordinator(cluster, transactional_id, request, PrepareTransactionResponse)
        if answer.error_code == INVALID_TXN_STATE and answer.decided_number >= number:
            raise AlreadyDecided(transactional_id, number, answer.decided_number)
        check(answer.error_code, f"transactional id {transactional_id}", answer.error_message)

    cluster.persist(attempt)


def end_transaction(
    cluster: ClusterClient, transactional_id: str, producer: ProducerIdentity, *, is_commit: bool
) -> ProducerIdentity:
    """Commits or aborts the open transaction; the identity that it gives is the one for the next."""
    request = EndTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        committed=is_commit,
    )

    def attempt() -> ProducerIdentity:
        answer = ask_transaction_coordinator(cluster, transactional_id, request, EndTxnResponse)
        check(answer.error_code, f"transactional id {transactional_id}")
        return ProducerIdentity(answer.producer_id, answer.producer_epoch)

    return cluster.persist(attempt)


# --- decisions


def decide(cluster: ClusterClient, writer: str, number: int, committed_ids: Collection[str]) -> Decision:
    """Commits these and aborts the writer's others; where it was decided before, tells how.

    Whoever calls it looks at the answer: `Decision.number` is above the asked one, or its ids are others,
    where somebody decided before.
    """
    request = DecideTransactionsRequest(writer=writer, number=number, committed_ids=sorted(committed_ids))

    def attempt() -> Decision:
        answer = ask_transaction_coordinator(cluster, "{" + writer + "}", request, DecideTransactionsResponse)
        check(answer.error_code, f"writer {writer}", answer.error_message)
        return Decision(answer.decided_number, answer.decided_time_ms, frozenset(answer.committed_ids))

    return cluster.persist(attempt)


def describe_writer(cluster: ClusterClient, writer: str) -> WriterView:
    request = DescribeTransactionWritersRequest(writers=[writer])

    def attempt() -> WriterView:
        answer = ask_transaction_coordinator(
            cluster, "{" + writer + "}", request, DescribeTransactionWritersResponse
        )
        check(answer.error_code, f"writer {writer}", answer.error_message)
        (found,) = answer.writers
        check(found.error_code, f"writer {writer}", found.error_message)
        return _writer_view(found)

    return cluster.persist(attempt)


def list_writers(cluster: ClusterClient) -> list[WriterView]:
    """Of all nodes."""
    found: list[WriterView] = []
    for node_id in cluster.nodes:
        answer = cluster.ask_node(
            node_id, DescribeTransactionWritersRequest(writers=None), DescribeTransactionWritersResponse
        )
        check(answer.error_code, f"broker {node_id}", answer.error_message)
        found += [_writer_view(each) for each in answer.writers]
    return sorted(found, key=lambda each: each.writer)


def _writer_view(found: TransactionWriter) -> WriterView:
    decision = None
    if found.decided_number >= 0:
        decision = Decision(found.decided_number, found.decided_time_ms, frozenset(found.committed_ids))
    prepared = tuple(
        PreparedView(each.transactional_id, each.number, each.since_time_ms, each.transaction_state)
        for each in found.prepared
    )
    return WriterView(found.writer, decision, prepared)


# --- for tools


def list_transactions(
    cluster: ClusterClient,
    *,
    states: Sequence[str] = (),
    longer_than_ms: int = -1,
    pattern: str | None = None,
) -> list[TransactionSummary]:
    """Of all nodes."""
    request = ListTransactionsRequest(
        state_filters=list(states), duration_filter=longer_than_ms, transactional_id_pattern=pattern
    )
    found: list[TransactionSummary] = []
    for node_id in cluster.nodes:
        answer = cluster.ask_node(node_id, request, ListTransactionsResponse)
        check(answer.error_code, f"broker {node_id}")
        if answer.unknown_state_filters:
            raise PeerError(f"there is no state {answer.unknown_state_filters[0]}")
        found += [
            TransactionSummary(each.transactional_id, each.producer_id, each.transaction_state, node_id)
            for each in answer.transaction_states
        ]
    return sorted(found)


def describe_transaction(cluster: ClusterClient, transactional_id: str) -> TransactionView:
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])

    def attempt() -> TransactionView:
        node_id = _coordinator_of(cluster, transactional_id)
        answer = cluster.ask_node(node_id, request, DescribeTransactionsResponse)
        (found,) = answer.transaction_states
        check(found.error_code, f"transactional id {transactional_id}")
        return TransactionView(
            transactional_id,
            node_id,
            found.transaction_state,
            found.producer_id,
            found.producer_epoch,
            found.transaction_timeout_ms,
            found.transaction_start_time_ms,
            frozenset(
                TopicPartition(topic.topic, index) for topic in found.topics for index in topic.partitions
            ),
        )

    return cluster.persist(attempt)


def abort_transaction(cluster: ClusterClient, transactional_id: str) -> TransactionView:
    """Aborts what is open under the id, and fences its producer. What was there before is returned."""
    before = describe_transaction(cluster, transactional_id)
    if before.state == "Empty" or before.state.startswith("Complete"):
        raise Refused(
            TRANSACTIONAL_ID_NOT_FOUND, f"transactional id {transactional_id}", "no transaction is open"
        )
    TransactionalProducer(cluster, transactional_id, timeout_ms=_FENCING_TIMEOUT_MS).init()
    return before


# --- the coordinator


def _coordinator_of(cluster: ClusterClient, transactional_id: str) -> int:
    answer = cluster.ask(
        FindCoordinatorRequest(key=transactional_id, key_type=_TRANSACTION), FindCoordinatorResponse
    )
    check(answer.error_code, f"transactional id {transactional_id}", answer.error_message)
    return answer.node_id


def ask_transaction_coordinator(
    cluster: ClusterClient, transactional_id: str, request: Message, answer: type[A]
) -> A:
    return cluster.ask_node(_coordinator_of(cluster, transactional_id), request, answer)
