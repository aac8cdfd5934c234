"""Reading records from partitions of our choice, from offsets of our choice.

A reader of committed data gets no further than the first transaction that is still open. Of what it gets,
the answer names the transactions that were aborted, each with the first offset that is to be left out; its
batches are passed over up to the marker that ends it.

One fetch is always on its way to each leader: the next one is sent before the records of the last
are decoded. Positions move by whole batches, so that the gaps which compaction and transaction
markers leave are passed over.

A partition that cannot be read at the moment (no leader, a leader out of reach) is asked for again
and again while the others go on; after `patience_s` its error is raised.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from mainstem.client.answer_codes import OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION
from mainstem.client.cluster import ClusterClient
from mainstem.client.connection import Connection, wait_readable
from mainstem.client.errors import (
    AnswerTooLate,
    ClusterUnreachable,
    ConnectionLost,
    DamagedBatch,
    Refused,
    UnexpectedAnswer,
    check,
)
from mainstem.client.offsets import partition_ranges
from mainstem.model.batch import CRC_START, HEADER_BYTES, MAGIC, BatchHeader, Buffer, parse_header
from mainstem.model.crc import crc32c
from mainstem.model.errors import MainstemError, MalformedRecords, UnknownCodec
from mainstem.model.ids import TopicPartition
from mainstem.model.records import Headers, decode_records
from mainstem.wire.kafka.messages.fetch import (
    AbortedTransaction,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

_PAUSE_S: Final = 0.1
_MAX_WAIT_MS: Final = 500
_LOST = (ConnectionLost, AnswerTooLate, ClusterUnreachable, UnexpectedAnswer)


class FetchedRecord(NamedTuple):
    partition: TopicPartition
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class _Asked(NamedTuple):
    """A fetch on its way."""

    partitions: list[TopicPartition]
    sent_at: float  # monotonic seconds


class _Arrived(NamedTuple):
    """A batch that came, and the position from which its records count."""

    partition: TopicPartition
    position: int
    header: BatchHeader
    batch: Buffer


class AbortedProducers:
    """Whose transactional batches are to be left out, batch by batch of one answer."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._coming = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
        self._producers: set[int] = set()

    def leave_out(self, header: BatchHeader) -> bool:
        """Called for the batches in their order."""
        while self._coming and self._coming[-1].first_offset <= header.last_offset:
            self._producers.add(self._coming.pop().producer_id)
        if header.producer_id not in self._producers:
            return False
        if header.is_control:
            self._producers.discard(header.producer_id)  # the marker that aborts: nothing was committed
            return True
        return header.is_transactional


def _ignore(_partition: TopicPartition, _wanted: int, _first: int) -> None:
    pass


class RecordReader:
    """Reads `positions` up to `ends`, or for ever where there are none."""

    def __init__(
        self,
        cluster: ClusterClient,
        positions: Mapping[TopicPartition, int],
        *,
        ends: Mapping[TopicPartition, int] | None = None,
        max_bytes: int = 16 * 1024 * 1024,
        partition_max_bytes: int = 1024 * 1024,
        patience_s: float = 60.0,
        read_committed: bool = False,
        on_gap: Callable[[TopicPartition, int, int], None] = _ignore,
    ) -> None:
        self.positions = dict(positions)  # of each partition the offset after what `read` gave out
        self._cluster = cluster
        self._ends = None if ends is None else dict(ends)
        self._max_bytes = max_bytes
        self._partition_max_bytes = partition_max_bytes
        self._patience_s = patience_s  # how long a partition may be without a leader
        self._read_committed = read_committed
        self._on_gap = on_gap  # hears when records were deleted before they could be read
        self._connections: dict[int, Connection] = {}
        self._asked: dict[int, _Asked] = {}  # by leader
        self._order = list(self.positions)  # the partitions that gave nothing for longest come first
        self._not_before = 0.0
        self._failing_since: dict[TopicPartition, float] = {}
        self._damage: DamagedBatch | None = None  # raised once what came before it is given out

    @property
    def is_finished(self) -> bool:
        return not any(self._is_wanted(partition) for partition in self._order)

    @property
    def remaining_count(self) -> int:
        """Offsets, not records: there may be fewer of these."""
        if self._ends is None:
            return 0
        return sum(max(0, end - self.positions[partition]) for partition, end in self._ends.items())

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self._asked.clear()

    def read(self, timeout_s: float) -> Iterator[FetchedRecord]:
        """The records of one round of answers; none when nothing came in time.

        They are decoded batch by batch as they are taken, so that no more than one batch is in memory
        as records. Who stops taking leaves out the rest: `positions` are beyond all of them.
        """
        if self._damage is not None:
            raise self._damage
        self._ask()
        if not self._asked:
            if not self.is_finished:
                time.sleep(min(timeout_s, _PAUSE_S))
            return iter(())
        arrived = self._receive(timeout_s)
        self._ask()
        return (record for batch in arrived for record in self._decode(*batch))

    def _receive(self, timeout_s: float) -> list[_Arrived]:
        waiting = {self._connections[node].fileno(): node for node in self._asked}
        arrived: list[_Arrived] = []
        for descriptor in wait_readable([self._connections[node] for node in self._asked], timeout_s):
            node_id = waiting[descriptor]
            try:
                answer = self._connections[node_id].receive(FetchResponse)
            except _LOST as error:
                self._leader_lost(node_id, error)
            else:
                arrived += self._take_answer(node_id, answer)
        deadline = time.monotonic() - self._cluster.timeout_s - _MAX_WAIT_MS / 1000
        for node_id in [node for node, asked in self._asked.items() if asked.sent_at < deadline]:
            address = str(self._connections[node_id].address)
            self._leader_lost(node_id, AnswerTooLate(address, "Fetch", self._cluster.timeout_s))
        return arrived

    # --- asking

    def _is_wanted(self, partition: TopicPartition) -> bool:
        return self._ends is None or self.positions[partition] < self._ends.get(partition, -1)

    def _ask(self) -> None:
        """One fetch to each leader that has none on its way and wants to hear from us."""
        if time.monotonic() < self._not_before:
            return
        for node_id, partitions in self._unasked_by_leader().items():
            if node_id in self._asked:
                continue
            try:
                connection = self._connections.get(node_id)
                if connection is None:
                    connection = self._connections[node_id] = self._cluster.connect(node_id)
                if not connection.throttled_s:
                    connection.send(self._fetch_of(partitions), FetchResponse)
                    self._asked[node_id] = _Asked(partitions, time.monotonic())
            except (Refused, *_LOST) as error:
                self._drop_connection(node_id)
                self._back_off(partitions, error)

    def _unasked_by_leader(self) -> dict[int, list[TopicPartition]]:
        busy = {partition for asked in self._asked.values() for partition in asked.partitions}
        unasked = [part for part in self._order if part not in busy and self._is_wanted(part)]
        by_leader: dict[int, list[TopicPartition]] = {}
        for number, partition in enumerate(unasked):
            try:
                by_leader.setdefault(self._cluster.leader_of(partition), []).append(partition)
            except Refused as error:
                self._back_off([partition], error)
            except _LOST as error:  # nobody is there to be asked: not for the others either
                self._back_off(unasked[number:], error)
                break
        return by_leader

    def _fetch_of(self, partitions: list[TopicPartition]) -> FetchRequest:
        topics: dict[str, FetchTopic] = {}
        for partition in partitions:
            topic = topics.setdefault(partition.topic, FetchTopic(topic=partition.topic))
            topic.partitions.append(
                FetchPartition(
                    partition=partition.partition,
                    fetch_offset=self.positions[partition],
                    partition_max_bytes=self._partition_max_bytes,
                )
            )
        return FetchRequest(
            max_wait_ms=_MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=self._max_bytes,
            isolation_level=int(self._read_committed),
            topics=list(topics.values()),
        )

    # --- answers

    def _take_answer(self, node_id: int, answer: FetchResponse) -> list[_Arrived]:
        del self._asked[node_id]
        check(answer.error_code, "fetch")
        arrived: list[_Arrived] = []
        for topic in answer.responses:
            for part in topic.partitions:
                partition = TopicPartition(topic.topic, part.partition_index)
                if partition not in self.positions:
                    continue
                if part.error_code:
                    self._take_error(partition, part)
                    continue
                self._failing_since.pop(partition, None)
                try:
                    aborted = AbortedProducers(part.aborted_transactions or ())
                    for batch in self._advance(partition, memoryview(part.records or b"")):
                        if not aborted.leave_out(batch.header):
                            arrived.append(batch)
                except DamagedBatch as error:
                    self._damage = self._damage or error
        if arrived:
            gave = dict.fromkeys(batch.partition for batch in arrived)
            self._order = [partition for partition in self._order if partition not in gave] + list(gave)
        return arrived

    def _advance(self, partition: TopicPartition, records: memoryview) -> Iterator[_Arrived]:
        """The whole batches, the position moved past each; the last may be cut off and comes again."""
        start = 0
        while start + HEADER_BYTES <= len(records):
            header = parse_header(records, start)
            end = start + header.size_bytes
            name, position = str(partition), self.positions[partition]
            if header.magic != MAGIC or header.size_bytes < HEADER_BYTES:
                raise DamagedBatch(name, position, "what comes there is no batch of version 2")
            if end > len(records):
                break
            batch = records[start:end]
            if crc32c(batch[CRC_START:]) != header.crc:
                raise DamagedBatch(name, header.base_offset, "its checksum is wrong")
            if header.next_offset > position:
                self.positions[partition] = header.next_offset
                yield _Arrived(partition, position, header, batch)
            start = end

    def _decode(
        self, partition: TopicPartition, position: int, header: BatchHeader, batch: Buffer
    ) -> Iterator[FetchedRecord]:
        if header.is_control:
            return
        end = None if self._ends is None else self._ends[partition]
        try:
            records = decode_records(batch, header=header)
        except (MalformedRecords, UnknownCodec) as error:
            raise DamagedBatch(str(partition), header.base_offset, str(error)) from error
        for record in records:
            offset = header.base_offset + record.offset_delta
            if offset < position or (end is not None and offset >= end):
                continue
            timestamp_ms = (
                header.max_timestamp
                if header.is_log_append_time
                else header.base_timestamp + record.timestamp_delta
            )
            yield FetchedRecord(partition, offset, timestamp_ms, record.key, record.value, record.headers)

    # --- when something is in the way

    def _take_error(self, partition: TopicPartition, part: PartitionData) -> None:
        if part.error_code != OFFSET_OUT_OF_RANGE:
            self._back_off([partition], Refused(part.error_code, f"partition {partition}"))
            return
        found = partition_ranges(self._cluster, [partition])[partition]
        position = self.positions[partition]
        if position >= found.start:
            raise Refused(
                OFFSET_OUT_OF_RANGE,
                f"partition {partition}",
                f"offset {position} is outside {found.start}..{found.end}",
            )
        self._on_gap(partition, position, found.start)
        self.positions[partition] = found.start

    def _leader_lost(self, node_id: int, error: MainstemError) -> None:
        asked = self._asked.pop(node_id)
        self._drop_connection(node_id)
        self._back_off(asked.partitions, error)

    def _drop_connection(self, node_id: int) -> None:
        connection = self._connections.pop(node_id, None)
        if connection is not None:
            connection.close()

    def _back_off(self, partitions: Iterable[TopicPartition], error: MainstemError) -> None:
        """Waits for another leader, but not for ever."""
        now = time.monotonic()
        passing = (
            not isinstance(error, Refused) or error.is_passing or error.code == UNKNOWN_TOPIC_OR_PARTITION
        )
        since = min(self._failing_since.setdefault(partition, now) for partition in partitions)
        if not passing or now - since > self._patience_s:
            raise error
        self._not_before = now + _PAUSE_S
        self._cluster.forget()
