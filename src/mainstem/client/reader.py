"""Reading records from partitions of our choice, from offsets of our choice.

One fetch is always on its way to each leader: the next one is sent before the records of the last
are decoded. Positions move by whole batches, so that the gaps which compaction and transaction
markers leave are passed over.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from mainstem.client.answer_codes import OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION
from mainstem.client.cluster import ClusterClient
from mainstem.client.connection import Connection
from mainstem.client.errors import (
    AnswerTooLate,
    ClusterUnreachable,
    ConnectionLost,
    Refused,
    UnexpectedAnswer,
    check,
)
from mainstem.client.offsets import partition_ranges
from mainstem.model.batch import CRC_START, HEADER_BYTES, MAGIC, BatchHeader, Buffer, parse_header
from mainstem.model.crc import crc32c
from mainstem.model.ids import TopicPartition
from mainstem.model.records import Headers, decode_records
from mainstem.wire.kafka.messages.fetch import (
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


class DamagedBatch(UnexpectedAnswer):
    """A batch whose checksum is wrong came from the broker."""


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
        on_gap: Callable[[TopicPartition, int, int], None] = _ignore,
    ) -> None:
        self.positions = dict(positions)  # of each partition the next offset to read
        self._cluster = cluster
        self._ends = None if ends is None else dict(ends)
        self._max_bytes = max_bytes
        self._partition_max_bytes = partition_max_bytes
        self._patience_s = patience_s  # how long a partition may be without a leader
        self._on_gap = on_gap  # hears when records were deleted before they could be read
        self._connections: dict[int, Connection] = {}
        self._asked: dict[int, list[TopicPartition]] = {}  # by leader, in the fetch on its way
        self._order = list(self.positions)  # the partitions that gave nothing for longest come first
        self._not_before = 0.0
        self._failing_since: float | None = None

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

    def read(self, timeout_s: float) -> list[FetchedRecord]:
        """The records of one round of answers; none when nothing came in time."""
        self._ask()
        if not self._asked:
            if not self.is_finished:
                time.sleep(min(timeout_s, _PAUSE_S))
            return []
        waiting = {self._connections[node].fileno(): node for node in self._asked}
        poller = select.poll()
        for descriptor in waiting:
            poller.register(descriptor, select.POLLIN)
        batches: list[tuple[TopicPartition, int, BatchHeader, Buffer]] = []
        for descriptor, _ in poller.poll(timeout_s * 1000):
            node_id = waiting[descriptor]
            try:
                answer = self._connections[node_id].receive(FetchResponse)
                batches += self._take_answer(node_id, answer)
            except _LOST as error:
                self._leader_lost(node_id, error)
        self._ask()
        records: list[FetchedRecord] = []
        for partition, position, header, batch in batches:
            records += self._decode(partition, position, header, batch)
        return records

    # --- asking

    def _is_wanted(self, partition: TopicPartition) -> bool:
        return self._ends is None or self.positions[partition] < self._ends.get(partition, -1)

    def _ask(self) -> None:
        """One fetch to each leader that has none on its way."""
        if time.monotonic() < self._not_before:
            return
        by_leader: dict[int, list[TopicPartition]] = {}
        busy = {partition for partitions in self._asked.values() for partition in partitions}
        try:
            for partition in self._order:
                if partition not in busy and self._is_wanted(partition):
                    by_leader.setdefault(self._cluster.leader_of(partition), []).append(partition)
            for node_id, partitions in by_leader.items():
                if node_id not in self._asked:
                    self._connection_to(node_id).send(self._fetch_of(partitions), FetchResponse)
                    self._asked[node_id] = partitions
        except (Refused, *_LOST) as error:
            self._back_off(error)

    def _connection_to(self, node_id: int) -> Connection:
        connection = self._connections.get(node_id)
        if connection is None:
            connection = self._connections[node_id] = Connection(
                self._cluster.address_of(node_id),
                client_id=self._cluster.client_id,
                timeout_s=self._cluster.timeout_s,
            )
        return connection

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
            max_wait_ms=_MAX_WAIT_MS, min_bytes=1, max_bytes=self._max_bytes, topics=list(topics.values())
        )

    # --- answers

    def _take_answer(
        self, node_id: int, answer: FetchResponse
    ) -> list[tuple[TopicPartition, int, BatchHeader, Buffer]]:
        del self._asked[node_id]
        check(answer.error_code, "fetch")
        batches: list[tuple[TopicPartition, int, BatchHeader, Buffer]] = []
        for topic in answer.responses:
            for part in topic.partitions:
                partition = TopicPartition(topic.topic, part.partition_index)
                if part.error_code:
                    self._take_error(partition, part)
                elif partition in self.positions and part.records:
                    batches += self._advance(partition, memoryview(part.records))
        if batches:
            self._failing_since = None
            gave = dict.fromkeys(partition for partition, *_ in batches)
            self._order = [partition for partition in self._order if partition not in gave] + list(gave)
        return batches

    def _advance(
        self, partition: TopicPartition, records: memoryview
    ) -> Iterator[tuple[TopicPartition, int, BatchHeader, Buffer]]:
        """The whole batches, the position moved past each; the last may be cut off and comes again."""
        start = 0
        while start + HEADER_BYTES <= len(records):
            header = parse_header(records, start)
            end = start + header.size_bytes
            if header.magic != MAGIC or header.size_bytes < HEADER_BYTES:
                raise DamagedBatch(str(partition), f"no batch at offset {self.positions[partition]}")
            if end > len(records):
                break
            batch = records[start:end]
            if crc32c(batch[CRC_START:]) != header.crc:
                raise DamagedBatch(str(partition), f"the batch at offset {header.base_offset} is damaged")
            position = self.positions[partition]
            if header.next_offset > position:
                self.positions[partition] = header.next_offset
                yield partition, position, header, batch
            start = end

    def _decode(
        self, partition: TopicPartition, position: int, header: BatchHeader, batch: Buffer
    ) -> Iterator[FetchedRecord]:
        if header.is_control:
            return
        end = None if self._ends is None else self._ends[partition]
        for record in decode_records(batch, header=header):
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
        error = Refused(part.error_code, f"partition {partition}")
        if part.error_code != OFFSET_OUT_OF_RANGE:
            self._back_off(error)
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

    def _leader_lost(self, node_id: int, error: Exception) -> None:
        self._asked.pop(node_id, None)
        connection = self._connections.pop(node_id, None)
        if connection is not None:
            connection.close()
        if isinstance(error, DamagedBatch):
            raise error
        self._back_off(error)

    def _back_off(self, error: Exception) -> None:
        """Waits for another leader, but not for ever."""
        now = time.monotonic()
        passing = (
            not isinstance(error, Refused) or error.is_passing or error.code == UNKNOWN_TOPIC_OR_PARTITION
        )
        if self._failing_since is None:
            self._failing_since = now
        if not passing or now - self._failing_since > self._patience_s:
            raise error
        self._not_before = now + _PAUSE_S
        self._cluster.forget()
