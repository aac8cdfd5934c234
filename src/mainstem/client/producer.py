"""Writing records: batches per partition, several requests on the way, every record accounted for.

The producer works while its methods run (`send`, `poll`, `flush`); there is no thread. Each record
ends as delivered or as failed, and `on_delivery` hears of it, batch by batch.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from mainstem.client.answer_codes import (
    BAD_RECORD_CODES,
    DUPLICATE_SEQUENCE_NUMBER,
    OUT_OF_ORDER_SEQUENCE_NUMBER,
    TRANSACTION_ABORTABLE,
    UNKNOWN_PRODUCER_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
    is_passing,
)
from mainstem.client.cluster import ClusterClient, check_partition
from mainstem.client.connection import Connection, wait_readable
from mainstem.client.errors import (
    AnswerTooLate,
    ClusterUnreachable,
    ConnectionLost,
    NotDelivered,
    Refused,
    UnexpectedAnswer,
    check,
)
from mainstem.client.partition_queue import (
    NO_IDENTITY,
    OBJECTS_BYTES,
    PartitionQueue,
    PendingBatch,
    ProducerIdentity,
    record_size,
)
from mainstem.client.partitioner import StickyChoice, partition_for_key
from mainstem.model.compression import NONE
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicPartition
from mainstem.model.records import NewRecord
from mainstem.wire.kafka.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from mainstem.wire.kafka.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

ACKS_ALL: Final = -1
_MAX_REQUESTS_IN_FLIGHT: Final = 5
_PAUSE_S: Final = 0.1
_LOST = (ConnectionLost, AnswerTooLate, ClusterUnreachable, UnexpectedAnswer)


_GAP_CODES: Final = (OUT_OF_ORDER_SEQUENCE_NUMBER, UNKNOWN_PRODUCER_ID)


class Delivery(NamedTuple):
    """What became of one batch."""

    partition: TopicPartition
    base_offset: int  # -1: not told (acks 0), or not delivered
    records: Sequence[NewRecord]
    error: Exception | None


class TransactionIdentity(NamedTuple):
    transactional_id: str
    producer_id: int
    epoch: int


class _Request(NamedTuple):
    sent_at: float
    batches: dict[TopicPartition, tuple[PartitionQueue, PendingBatch]]


class _Leader:
    """A connection of our own to one broker and the requests that wait on it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.requests: deque[_Request] = deque()


def _told(answer: PartitionProduceResponse) -> str | None:
    """What the leader says is wrong, of a record rather than of the batch."""
    for entry in answer.record_errors:
        if entry.batch_index_error_message:
            return entry.batch_index_error_message
    return answer.error_message


def _ignore(_delivery: Delivery) -> None:
    pass


class RecordProducer:
    def __init__(
        self,
        cluster: ClusterClient,
        *,
        acks: int = ACKS_ALL,
        codec: int = NONE,
        batch_bytes: int = 256 * 1024,
        buffer_bytes: int = 32 * 1024 * 1024,
        delivery_timeout_s: float = 120.0,
        on_delivery: Callable[[Delivery], None] = _ignore,
    ) -> None:
        self.delivered_count = 0
        self.failed_count = 0
        self._cluster = cluster
        self._acks = acks
        self._codec = codec
        self._batch_bytes = batch_bytes
        self._buffer_bytes = buffer_bytes  # bound of what was handed in and not confirmed
        self._delivery_timeout_s = delivery_timeout_s
        self._on_delivery = on_delivery
        self._is_idempotent = acks == ACKS_ALL
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._sticky: dict[str, StickyChoice] = {}
        self._leaders: dict[int, _Leader] = {}
        self._identity: ProducerIdentity | None = None  # of all queues until one breaks
        self._transaction: TransactionIdentity | None = None  # what is sent belongs to it
        self._partition_counts: dict[str, int] = {}  # as they were at first: a key keeps its partition
        self._last_error: Exception | None = None
        self._unconfirmed_bytes = 0
        self._unconfirmed_count = 0

    @property
    def unconfirmed_count(self) -> int:
        return self._unconfirmed_count

    def begin_transaction(self, transaction: TransactionIdentity) -> None:
        """What is sent from now on belongs to it. Nothing may be unconfirmed."""
        assert not self._unconfirmed_count, "the transaction before is not flushed"
        self._queues.clear()  # numbers begin anew with each epoch
        self._transaction = transaction
        self._identity = ProducerIdentity(transaction.producer_id, transaction.epoch)

    def send(self, topic: str, record: NewRecord, *, partition: int | None = None) -> None:
        """Takes the record; blocks while too much is unconfirmed."""
        queue = self._queue_for(topic, record, partition)
        size = record_size(record)
        self._unconfirmed_bytes += size + OBJECTS_BYTES
        self._unconfirmed_count += 1
        if queue.add(record, size, time.monotonic() + self._delivery_timeout_s):
            if record.key is None and partition is None:
                self._sticky[topic].move_on(self._partition_counts[topic])
            self._dispatch()
            self.poll(0.0)
        while self._unconfirmed_bytes > self._buffer_bytes:
            self.send_open()
            self.poll(1.0)

    def send_open(self) -> None:
        """Sends what there is without waiting for full batches."""
        for queue in self._queues.values():
            queue.close_open()
        self._dispatch()

    def poll(self, timeout_s: float) -> None:
        """Takes the answers that came, waiting for the first one as long as the time-out says."""
        self._receive(timeout_s)
        self._expire()
        self._dispatch()

    def flush(self) -> None:
        """Returns when every record is delivered or failed."""
        self.send_open()
        while self._unconfirmed_count:
            self.poll(0.5)

    def close(self) -> None:
        """Lets go of the connections; what is unconfirmed then is reported as failed."""
        for queue in self._queues.values():
            queue.close_open()
            for batch in (*queue.in_flight, *queue.retry, *queue.ready):
                self._report(queue.partition, batch, NotDelivered("the producer was closed before"))
            queue.in_flight.clear()
            queue.retry.clear()
            queue.ready.clear()
        for leader in self._leaders.values():
            leader.connection.close()
        self._leaders.clear()

    # --- sending

    def _queue_for(self, topic: str, record: NewRecord, chosen: int | None) -> PartitionQueue:
        count = self._partition_counts.get(topic)
        if count is None:
            count = self._partition_counts[topic] = len(self._cluster.topic(topic).partitions)
            self._sticky[topic] = StickyChoice()
        if chosen is None:
            if record.key is not None:
                chosen = partition_for_key(record.key, count)
            else:
                chosen = self._sticky[topic].partition(count)
        place = TopicPartition(topic, chosen)
        queue = self._queues.get(place)
        if queue is None:
            check_partition(place, count)
            in_flight = _MAX_REQUESTS_IN_FLIGHT if self._is_idempotent else 1
            queue = self._queues[place] = PartitionQueue(place, self._batch_bytes, in_flight)
            queue.is_transactional = self._transaction is not None
        return queue

    def _dispatch(self) -> None:
        """Sends what may be sent, until all leaders are busy or nothing is left."""
        while True:
            now = time.monotonic()
            sent_any = False
            for node_id, queues in self._by_leader(now).items():
                try:
                    if self._has_room(node_id):
                        self._send_request(node_id, queues)
                        sent_any = True
                except _LOST as error:
                    for queue in queues:
                        self._back_off(queue, error)
            if not sent_any:
                return

    def _by_leader(self, now: float) -> dict[int, list[PartitionQueue]]:
        waiting = deque(queue for queue in self._queues.values() if queue.may_send(now))
        found: dict[int, list[PartitionQueue]] = {}
        while waiting:
            queue = waiting.popleft()
            try:
                self._identify(queue)
                found.setdefault(self._cluster.leader_of(queue.partition), []).append(queue)
            except Refused as error:
                self._back_off(queue, error)
            except _LOST as error:  # there is nobody whom we could ask: not for the others either
                for unplaced in (queue, *waiting):
                    self._back_off(unplaced, error)
                break
        return found

    def _identify(self, queue: PartitionQueue) -> None:
        if queue.identity is not None:
            return
        if not self._is_idempotent:
            queue.identity = NO_IDENTITY
            return
        if self._transaction is not None and queue.spent_identity is not None:
            told = "a record of the transaction was given up, so the others are not sent"
            raise Refused(TRANSACTION_ABORTABLE, f"partition {queue.partition}", told)
        if self._identity is None or self._identity == queue.spent_identity:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
            answer = self._cluster.ask(request, InitProducerIdResponse)
            check(answer.error_code, "producer id")
            self._identity = ProducerIdentity(answer.producer_id, answer.producer_epoch)
        queue.identity = self._identity

    def _has_room(self, node_id: int) -> bool:
        """Whether the leader takes one more request now."""
        leader = self._leaders.get(node_id)
        if leader is None:
            leader = self._leaders[node_id] = _Leader(self._cluster.connect(node_id))
        return len(leader.requests) < _MAX_REQUESTS_IN_FLIGHT and not leader.connection.throttled_s

    def _send_request(self, node_id: int, queues: list[PartitionQueue]) -> None:
        leader = self._leaders[node_id]
        request = _Request(time.monotonic(), {})
        topics: dict[str, TopicProduceData] = {}
        for queue in queues:
            batch = queue.take(self._codec)
            request.batches[queue.partition] = (queue, batch)
            topic = topics.setdefault(queue.partition.topic, TopicProduceData(name=queue.partition.topic))
            topic.partition_data.append(
                PartitionProduceData(index=queue.partition.partition, records=batch.encoded)
            )
        transaction = self._transaction
        message = ProduceRequest(
            transactional_id=None if transaction is None else transaction.transactional_id,
            acks=self._acks,
            timeout_ms=int(self._cluster.timeout_s * 1000),
            topic_data=list(topics.values()),
        )
        try:
            leader.connection.send(message, ProduceResponse if self._acks else None)
        except _LOST as error:
            leader.requests.append(request)
            self._leader_lost(node_id, error)
            return
        if self._acks:
            leader.requests.append(request)
        else:
            for queue, batch in request.batches.values():
                queue.confirm(batch)
                self._report(queue.partition, batch, None)

    # --- answers

    def _receive(self, timeout_s: float) -> None:
        waiting = {
            leader.connection.fileno(): node for node, leader in self._leaders.items() if leader.requests
        }
        if not waiting:
            if timeout_s and self._unconfirmed_count:
                time.sleep(min(timeout_s, _PAUSE_S / 2))
            return
        connections = [self._leaders[node].connection for node in waiting.values()]
        for descriptor in wait_readable(connections, timeout_s):
            node_id = waiting[descriptor]
            leader = self._leaders[node_id]
            try:
                answer = leader.connection.receive(ProduceResponse)
            except _LOST as error:
                self._leader_lost(node_id, error)
                continue
            self._take_answer(leader.requests.popleft(), answer)
        deadline = time.monotonic() - self._cluster.timeout_s
        for node_id in waiting.values():
            late = self._leaders.get(node_id)
            if late is not None and late.requests and late.requests[0].sent_at < deadline:
                address = str(late.connection.address)
                self._leader_lost(node_id, AnswerTooLate(address, "Produce", self._cluster.timeout_s))

    def _take_answer(self, request: _Request, answer: ProduceResponse) -> None:
        left = dict(request.batches)
        for topic in answer.responses:
            for part in topic.partition_responses:
                found = left.pop(TopicPartition(topic.name, part.index), None)
                if found is not None:
                    self._settle(*found, part)
        for queue, batch in left.values():
            queue.give_up(batch)
            self._report(queue.partition, batch, NotDelivered("the broker's answer leaves them out"))

    def _settle(self, queue: PartitionQueue, batch: PendingBatch, answer: PartitionProduceResponse) -> None:
        code = answer.error_code
        if code in (0, DUPLICATE_SEQUENCE_NUMBER):
            queue.confirm(batch)
            self._report(queue.partition, batch, None, answer.base_offset)
            return
        error = self._last_error = Refused(code, f"partition {queue.partition}", _told(answer))
        now = time.monotonic()
        if code in BAD_RECORD_CODES and len(batch.records) > 1:
            self._part_with_bad(queue, batch, answer, error)
        elif self._is_idempotent and code in _GAP_CODES and now < batch.give_up_at:
            batch.is_unwritten = True
            if not queue.retry and queue.in_flight[0] is batch:
                queue.is_broken = True  # nothing of ours is missing: the leader forgot who we are
            queue.send_again(batch, instead_of=batch, not_before=now)
        elif (is_passing(code) or code == UNKNOWN_TOPIC_OR_PARTITION) and now < batch.give_up_at:
            self._cluster.forget()
            queue.send_again(batch, instead_of=batch, not_before=now + _PAUSE_S)
        else:
            queue.give_up(batch)
            self._report(queue.partition, batch, error)

    def _part_with_bad(
        self, queue: PartitionQueue, batch: PendingBatch, answer: PartitionProduceResponse, error: Refused
    ) -> None:
        """Nothing of the batch was written, for the sake of some of its records: the others go again.

        Where the leader does not say which they are, halves find out.
        """
        refused = {entry.batch_index for entry in answer.record_errors}
        refused &= set(range(len(batch.records)))
        if refused:
            self._report(queue.partition, queue.take_out(batch, refused), error)
            return
        batch.is_unwritten = True
        queue.send_again(*batch.split(), instead_of=batch, not_before=time.monotonic())

    def _leader_lost(self, node_id: int, error: Exception) -> None:
        """Whether what was on the way got written is unknown: all of it goes again."""
        leader = self._leaders.pop(node_id)
        leader.connection.close()
        self._cluster.forget()
        self._last_error = error
        now = time.monotonic()
        for request in leader.requests:
            for queue, batch in request.batches.values():
                if now < batch.give_up_at:
                    queue.send_again(batch, instead_of=batch, not_before=now + _PAUSE_S)
                else:
                    queue.give_up(batch)
                    self._report(queue.partition, batch, error)

    def _back_off(self, queue: PartitionQueue, error: MainstemError) -> None:
        """The leader cannot be found or reached now: later again, unless that is for good."""
        passing = (
            not isinstance(error, Refused) or error.is_passing or error.code == UNKNOWN_TOPIC_OR_PARTITION
        )
        queue.not_before = time.monotonic() + _PAUSE_S
        self._cluster.forget()
        self._last_error = error
        if not passing:
            self._fail_waiting(queue, error, float("inf"))

    def _expire(self) -> None:
        now = time.monotonic()
        for queue in self._queues.values():
            if queue.ready and queue.ready[0].give_up_at <= now:
                reason = f": {self._last_error}" if self._last_error else ""
                error = NotDelivered(f"not confirmed within {self._delivery_timeout_s:g} s{reason}")
                self._fail_waiting(queue, error, now)

    def _fail_waiting(self, queue: PartitionQueue, error: Exception, now: float) -> None:
        for batch in queue.drop_overdue(now):
            self._report(queue.partition, batch, error)

    def _report(
        self, partition: TopicPartition, batch: PendingBatch, error: Exception | None, base_offset: int = -1
    ) -> None:
        count = len(batch.records)
        self._unconfirmed_bytes -= batch.memory_bytes
        self._unconfirmed_count -= count
        if error is None:
            self.delivered_count += count
        else:
            self.failed_count += count
        self._on_delivery(Delivery(partition, base_offset if error is None else -1, batch.records, error))
