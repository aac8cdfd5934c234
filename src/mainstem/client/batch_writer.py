"""Writing whole batches that somebody else packed: all of them, in order and once, or an error.

Where `RecordProducer` tells of every record what became of it, this one is for bulk: the first batch that
cannot be written ends it. Batches of one partition arrive in the order of `write`, also when some of them
come back: those behind come back too (the leader sees the gap in their numbers), nothing more is sent until
all have, and then the oldest goes first, under the old numbers. A leader that knows nothing of us yet sees
no gap, so it gets one batch alone first.

No thread: requests leave in `write`, answers are taken in `write` and `flush`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from mainstem.client.answer_codes import (
    DUPLICATE_SEQUENCE_NUMBER,
    OUT_OF_ORDER_SEQUENCE_NUMBER,
    UNKNOWN_TOPIC_OR_PARTITION,
    is_passing,
)
from mainstem.client.cluster import ClusterClient
from mainstem.client.connection import Connection
from mainstem.client.errors import (
    AnswerTooLate,
    ClusterUnreachable,
    ConnectionLost,
    NotDelivered,
    Refused,
)
from mainstem.client.partition_queue import ProducerIdentity
from mainstem.model import compression
from mainstem.model.batch import MAGIC, TRANSACTIONAL_BIT, BatchHeader
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicPartition
from mainstem.model.new_columns import PackedRows
from mainstem.model.records import seal_batch
from mainstem.wire.kafka.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

_ACKS_ALL: Final = -1
_MAX_REQUESTS_IN_FLIGHT: Final = 4  # to a leader; a leader remembers five batches of a producer
_REQUEST_BYTES: Final = 1 << 20
_PAUSE_S: Final = 0.1
_SEQUENCE_MASK: Final = 0x7FFFFFFF
_LOST = (ConnectionLost, AnswerTooLate, ClusterUnreachable)


class _Batch(NamedTuple):
    number: int  # in the order of `write`
    partition: TopicPartition
    encoded: bytes


@dataclass(slots=True)
class _Lane:
    """What goes to one partition."""

    next_sequence: int = 0
    in_flight: int = 0
    is_known: bool = False  # its leader took a batch of ours, and so sees gaps
    is_repairing: bool = False  # something came back: nothing is sent until all is back


@dataclass(slots=True)
class _Leader:
    connection: Connection
    requests: deque[list[_Batch]]  # in the order in which they will be answered


class BatchWriter:
    def __init__(
        self,
        cluster: ClusterClient,
        identity: ProducerIdentity,
        *,
        transactional_id: str | None = None,
        codec: int = compression.NONE,
        buffer_bytes: int = 16 << 20,
        patience_s: float = 60.0,
    ) -> None:
        """`patience_s` is how long it may take from one confirmed batch to the next."""
        self.written: set[TopicPartition] = set()
        self._cluster = cluster
        self._identity = identity
        self._transactional_id = transactional_id
        self._codec = codec
        self._buffer_bytes = buffer_bytes
        self._patience_s = patience_s
        self._deadline = time.monotonic() + patience_s
        self._lanes: dict[TopicPartition, _Lane] = {}
        self._leaders: dict[int, _Leader] = {}
        self._waiting: deque[_Batch] = deque()  # by number
        self._unconfirmed_bytes = 0
        self._next_number = 0
        self._not_before = 0.0  # monotonic seconds

    def write(self, partition: TopicPartition, rows: PackedRows) -> None:
        """Takes the batch; blocks while too much is unconfirmed."""
        lane = self._lanes.setdefault(partition, _Lane())
        encoded = self._sealed(rows, lane.next_sequence)
        lane.next_sequence = (lane.next_sequence + rows.row_count) & _SEQUENCE_MASK
        if not self._unconfirmed_bytes:
            self._deadline = time.monotonic() + self._patience_s
        self._waiting.append(_Batch(self._next_number, partition, encoded))
        self._next_number += 1
        self._unconfirmed_bytes += len(encoded)
        self._send()
        while self._unconfirmed_bytes > self._buffer_bytes:
            self._step()

    def flush(self) -> None:
        """Returns when all is written."""
        while self._unconfirmed_bytes:
            self._step()

    def close(self) -> None:
        for leader in self._leaders.values():
            leader.connection.close()
        self._leaders.clear()

    def _sealed(self, rows: PackedRows, sequence: int) -> bytes:
        attributes = self._codec | (TRANSACTIONAL_BIT if self._transactional_id is not None else 0)
        header = BatchHeader(
            base_offset=0,
            length=0,
            leader_epoch=-1,
            magic=MAGIC,
            crc=0,
            attributes=attributes,
            last_offset_delta=rows.row_count - 1,
            base_timestamp=rows.base_timestamp_ms,
            max_timestamp=rows.max_timestamp_ms,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            base_sequence=sequence,
            record_count=rows.row_count,
        )
        payload = rows.payload
        if self._codec:
            payload = compression.compress(self._codec, bytes(payload))
        return seal_batch(header, payload)

    def _step(self) -> None:
        """Takes one answer, or waits for a while; then sends what may be sent."""
        busy = [node for node, leader in self._leaders.items() if leader.requests]
        if busy:
            oldest = min(busy, key=lambda node: self._leaders[node].requests[0][0].number)
            self._receive(oldest)
        else:
            time.sleep(max(0.0, min(self._not_before - time.monotonic(), _PAUSE_S)))
        self._send()

    # --- sending

    def _send(self) -> None:
        if time.monotonic() < self._not_before:
            return
        while self._waiting:
            try:
                by_leader = self._next_requests()
                for node_id, batches in by_leader.items():
                    self._send_request(node_id, batches)
            except (Refused, *_LOST) as error:
                self._back_off(error)
                return
            if not by_leader:
                return

    def _next_requests(self) -> dict[int, list[_Batch]]:
        """For each leader that has room the next batch of each of its partitions that may be sent."""
        requests: dict[int, list[_Batch]] = {}
        sizes: dict[int, int] = {}
        passed_over: set[TopicPartition] = set()
        for batch in self._waiting:
            if batch.partition in passed_over:
                continue
            passed_over.add(batch.partition)  # one of a partition in a request, and never one before another
            if not self._may_send(self._lanes[batch.partition]):
                continue
            node_id = self._cluster.leader_of(batch.partition)
            size = sizes.get(node_id, 0) + len(batch.encoded)
            if self._has_room(node_id) and (node_id not in requests or size <= _REQUEST_BYTES):
                requests.setdefault(node_id, []).append(batch)
                sizes[node_id] = size
        return requests

    def _may_send(self, lane: _Lane) -> bool:
        if lane.is_repairing and not lane.in_flight:
            lane.is_repairing = False
        return not lane.is_repairing and (lane.is_known or not lane.in_flight)

    def _has_room(self, node_id: int) -> bool:
        leader = self._leaders.get(node_id)
        if leader is None:
            leader = self._leaders[node_id] = _Leader(self._cluster.connect(node_id), deque())
        return len(leader.requests) < _MAX_REQUESTS_IN_FLIGHT and not leader.connection.throttled_s

    def _send_request(self, node_id: int, batches: list[_Batch]) -> None:
        topics: dict[str, TopicProduceData] = {}
        for batch in batches:
            topic = topics.setdefault(batch.partition.topic, TopicProduceData(name=batch.partition.topic))
            data = PartitionProduceData(index=batch.partition.partition, records=batch.encoded)
            topic.partition_data.append(data)
            self._lanes[batch.partition].in_flight += 1
            self._waiting.remove(batch)
        leader = self._leaders[node_id]
        leader.requests.append(batches)
        request = ProduceRequest(
            transactional_id=self._transactional_id,
            acks=_ACKS_ALL,
            timeout_ms=int(self._cluster.timeout_s * 1000),
            topic_data=list(topics.values()),
        )
        try:
            leader.connection.send(request, ProduceResponse)
        except _LOST as error:
            self._leader_lost(node_id, error)

    # --- answers

    def _receive(self, node_id: int) -> None:
        leader = self._leaders[node_id]
        try:
            answer = leader.connection.receive(ProduceResponse)
        except _LOST as error:
            self._leader_lost(node_id, error)
            return
        batches = leader.requests.popleft()
        told = {
            TopicPartition(topic.name, part.index): part
            for topic in answer.responses
            for part in topic.partition_responses
        }
        for batch in batches:
            part = told.get(batch.partition)
            if part is None:
                raise NotDelivered(f"partition {batch.partition}: the broker's answer leaves it out")
            lane = self._lanes[batch.partition]
            lane.in_flight -= 1
            if part.error_code in (0, DUPLICATE_SEQUENCE_NUMBER):
                self._confirm(batch, lane)
            elif part.error_code == OUT_OF_ORDER_SEQUENCE_NUMBER and lane.is_repairing:
                self._take_back([batch])
            else:
                words = next(
                    (entry.batch_index_error_message for entry in part.record_errors), part.error_message
                )
                lane.is_repairing = True
                self._take_back([batch])
                self._back_off(Refused(part.error_code, f"partition {batch.partition}", words))

    def _confirm(self, batch: _Batch, lane: _Lane) -> None:
        lane.is_known = True
        self.written.add(batch.partition)
        self._unconfirmed_bytes -= len(batch.encoded)
        self._deadline = time.monotonic() + self._patience_s

    def _take_back(self, batches: Iterable[_Batch]) -> None:
        self._waiting = deque(sorted((*batches, *self._waiting)))

    # --- when something is in the way

    def _leader_lost(self, node_id: int, error: MainstemError) -> None:
        """Whether what was on the way got written is unknown: all of it goes again, under its numbers."""
        leader = self._leaders.pop(node_id)
        leader.connection.close()
        for batches in leader.requests:
            for batch in batches:
                lane = self._lanes[batch.partition]
                lane.in_flight -= 1
                lane.is_repairing = True
            self._take_back(batches)
        self._back_off(error)

    def _back_off(self, error: MainstemError) -> None:
        now = time.monotonic()
        is_passing_now = (
            not isinstance(error, Refused)
            or is_passing(error.code)
            or error.code == UNKNOWN_TOPIC_OR_PARTITION
        )
        if not is_passing_now or now > self._deadline:
            raise error
        self._not_before = now + _PAUSE_S
        self._cluster.forget()
