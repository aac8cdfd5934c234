"""Kafka brokers in threads of the test, for what a real one does not do on demand.

They speak the wire protocol on real sockets and keep batches in memory, with leaders, sequences of
idempotent producers and groups' offsets as Kafka has them. A test scripts what goes wrong:

    cluster.script(PRODUCE, lose_answer, pass_through, ...)

The next requests of that API meet these, one each, in order; then all is well again. A step gets the
request and `answer`, which does the broker's work; it returns what is sent, or None to close the
connection instead.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from mainstem.client.addresses import Address
from mainstem.model.batch import CRC_START, HEADER_BYTES, parse_header
from mainstem.model.crc import crc32c
from mainstem.model.ids import TopicPartition
from mainstem.model.records import decode_records
from mainstem.wire.kafka.apis import APIS
from mainstem.wire.kafka.frames import decode_request, encode_response
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.messages import (
    api_versions,
    fetch,
    find_coordinator,
    init_producer_id,
    list_offsets,
    metadata,
    offset_commit,
    offset_fetch,
    produce,
)

PRODUCE, FETCH, LIST_OFFSETS, METADATA, OFFSET_COMMIT, OFFSET_FETCH = 0, 1, 2, 3, 8, 9
FIND_COORDINATOR, API_VERSIONS, INIT_PRODUCER_ID = 10, 18, 22
SERVED = (
    PRODUCE,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    FIND_COORDINATOR,
    API_VERSIONS,
    INIT_PRODUCER_ID,
)

Answer = Callable[[], Message]
Step = Callable[[Any, Answer], Message | None]


def pass_through(_request: Any, answer: Answer) -> Message | None:
    return answer()


def lose_request(_request: Any, _answer: Answer) -> Message | None:
    """The broker dies before it does anything."""
    return None


def lose_answer(_request: Any, answer: Answer) -> Message | None:
    """The broker does what it was asked and dies before it says so."""
    answer()
    return None


@dataclass(slots=True)
class FakePartition:
    leader: int = 0
    start_offset: int = 0
    end_offset: int = 0
    batches: list[bytes] = field(default_factory=list)
    sequences: dict[tuple[int, int], dict[int, int]] = field(default_factory=dict)  # base sequence -> offset
    next_sequence: dict[tuple[int, int], int] = field(default_factory=dict)

    def values(self) -> list[bytes | None]:
        return [record.value for batch in self.batches for record in decode_records(batch)]

    def append(self, batch: bytes) -> int:
        """Gives offsets and keeps it, as it is."""
        base_offset = self.end_offset
        self.batches.append(struct.pack(">q", base_offset) + batch[8:])
        self.end_offset = parse_header(self.batches[-1]).next_offset
        return base_offset

    def take(self, batch: bytes) -> tuple[int, int]:
        """Error code and base offset."""
        header = parse_header(batch)
        if crc32c(batch[CRC_START:]) != header.crc:
            return 2, -1
        if header.producer_id < 0:
            return 0, self.append(batch)
        producer = (header.producer_id, header.producer_epoch)
        known = self.sequences.setdefault(producer, {})
        if header.base_sequence in known:
            return 0, known[header.base_sequence]
        # As Kafka does, a producer that is not known may begin at any number.
        if header.base_sequence != self.next_sequence.get(producer, header.base_sequence):
            return 45, -1
        self.next_sequence[producer] = header.base_sequence + header.record_count
        known[header.base_sequence] = self.append(batch)
        return 0, known[header.base_sequence]


class FakeCluster:
    def __init__(
        self, *, node_count: int = 1, topics: dict[str, int] | None = None, served: Sequence[int] = SERVED
    ) -> None:
        self.lock = threading.RLock()
        self.served = tuple(served)
        self.partitions: dict[TopicPartition, FakePartition] = {}
        self.committed: dict[TopicPartition, int] = {}
        self.requests: list[tuple[int, Any]] = []  # node and request, in the order of arrival
        self.announced: dict[int, Address] = {}  # where it is not where the node listens
        self._scripts: dict[int, deque[Step]] = defaultdict(deque)
        self._next_producer_id = 1000
        for topic, count in (topics or {"t": 1}).items():
            for number in range(count):
                self.partitions[TopicPartition(topic, number)] = FakePartition(number % node_count)
        self.brokers = [FakeBroker(self, node_id) for node_id in range(node_count)]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for broker in self.brokers:
            broker.stop()

    @property
    def addresses(self) -> list[Address]:
        return [broker.address for broker in self.brokers]

    @property
    def bootstrap(self) -> str:
        return ",".join(map(str, self.addresses))

    def script(self, api: int, *steps: Step) -> None:
        with self.lock:
            self._scripts[api].extend(steps)

    def count(self, api: int) -> int:
        with self.lock:
            return sum(type(request).SCHEMA.key == api for _, request in self.requests)

    def values(self, topic: str = "t", partition: int = 0) -> list[bytes | None]:
        with self.lock:
            return self.partitions[TopicPartition(topic, partition)].values()

    # --- what the brokers do

    def respond(self, node_id: int, api: int, request: Any) -> Message | None:
        with self.lock:
            self.requests.append((node_id, request))
            step = self._scripts[api].popleft() if self._scripts[api] else pass_through
        handle = getattr(self, f"_on_{APIS[api].module.rpartition('.')[2]}")

        def answer() -> Message:
            with self.lock:
                told: Message = handle(node_id, request)
                return told

        return step(request, answer)

    def _on_api_versions(self, _node: int, _request: Any) -> Message:
        keys = [
            api_versions.ApiVersion(
                api_key=key, min_version=APIS[key].min_version, max_version=APIS[key].max_version
            )
            for key in self.served
        ]
        return api_versions.ApiVersionsResponse(api_keys=keys)

    def _on_metadata(self, _node: int, request: metadata.MetadataRequest) -> Message:
        names = sorted({place.topic for place in self.partitions})
        wanted = names if request.topics is None else [topic.name or "" for topic in request.topics]
        return metadata.MetadataResponse(
            brokers=[
                metadata.MetadataResponseBroker(node_id=broker.node_id, host=where.host, port=where.port)
                for broker in self.brokers
                if not broker.is_stopped
                for where in [self.announced.get(broker.node_id, broker.address)]
            ],
            cluster_id="fake",
            controller_id=0,
            topics=[self._topic(name) for name in wanted],
        )

    def _topic(self, name: str) -> metadata.MetadataResponseTopic:
        parts = [(place.partition, part) for place, part in self.partitions.items() if place.topic == name]
        return metadata.MetadataResponseTopic(
            error_code=0 if parts else 3,
            name=name,
            topic_id=name.encode().ljust(16, b"."),
            partitions=[
                metadata.MetadataResponsePartition(
                    error_code=0 if part.leader >= 0 else 5,
                    partition_index=number,
                    leader_id=part.leader,
                    replica_nodes=[0],
                    isr_nodes=[0],
                )
                for number, part in parts
            ],
        )

    def _on_init_producer_id(self, _node: int, _request: Any) -> Message:
        self._next_producer_id += 1
        return init_producer_id.InitProducerIdResponse(producer_id=self._next_producer_id, producer_epoch=0)

    def _on_produce(self, node_id: int, request: produce.ProduceRequest) -> Message:
        topics = []
        for topic in request.topic_data:
            answers = []
            for data in topic.partition_data:
                part = self.partitions[TopicPartition(topic.name, data.index)]
                code, offset = 6, -1
                if part.leader == node_id:
                    code, offset = part.take(bytes(data.records or b""))
                answers.append(
                    produce.PartitionProduceResponse(index=data.index, error_code=code, base_offset=offset)
                )
            topics.append(produce.TopicProduceResponse(name=topic.name, partition_responses=answers))
        return produce.ProduceResponse(responses=topics)

    def _on_fetch(self, node_id: int, request: fetch.FetchRequest) -> Message:
        topics = []
        for topic in request.topics:
            answers = []
            for asked in topic.partitions:
                part = self.partitions[TopicPartition(topic.topic, asked.partition)]
                answers.append(self._read(part, node_id, asked))
            topics.append(fetch.FetchableTopicResponse(topic=topic.topic, partitions=answers))
        return fetch.FetchResponse(responses=topics)

    def _read(self, part: FakePartition, node_id: int, asked: fetch.FetchPartition) -> fetch.PartitionData:
        data = fetch.PartitionData(
            partition_index=asked.partition,
            high_watermark=part.end_offset,
            log_start_offset=part.start_offset,
        )
        if part.leader != node_id:
            data.error_code = 6
        elif not part.start_offset <= asked.fetch_offset <= part.end_offset:
            data.error_code = 1
        else:
            wanted = [batch for batch in part.batches if _next_offset(batch) > asked.fetch_offset]
            room = max(asked.partition_max_bytes, len(wanted[0])) if wanted else 0
            data.records = b"".join(wanted)[:room]
        return data

    def _on_list_offsets(self, node_id: int, request: list_offsets.ListOffsetsRequest) -> Message:
        topics = []
        for topic in request.topics:
            answers = []
            for asked in topic.partitions:
                part = self.partitions[TopicPartition(topic.name, asked.partition_index)]
                found = list_offsets.ListOffsetsPartitionResponse(partition_index=asked.partition_index)
                if part.leader != node_id:
                    found.error_code = 6
                elif asked.timestamp == -2:
                    found.offset = part.start_offset
                elif asked.timestamp == -1:
                    found.offset = part.end_offset
                else:
                    found.offset = _offset_at(part, asked.timestamp)
                answers.append(found)
            topics.append(list_offsets.ListOffsetsTopicResponse(name=topic.name, partitions=answers))
        return list_offsets.ListOffsetsResponse(topics=topics)

    def _on_find_coordinator(self, _node: int, _request: Any) -> Message:
        where = next(broker.address for broker in self.brokers if not broker.is_stopped)
        return find_coordinator.FindCoordinatorResponse(node_id=0, host=where.host, port=where.port)

    def _on_offset_commit(self, _node: int, request: offset_commit.OffsetCommitRequest) -> Message:
        topics = []
        for topic in request.topics:
            answers = []
            for part in topic.partitions:
                self.committed[TopicPartition(topic.name, part.partition_index)] = part.committed_offset
                answers.append(
                    offset_commit.OffsetCommitResponsePartition(partition_index=part.partition_index)
                )
            topics.append(offset_commit.OffsetCommitResponseTopic(name=topic.name, partitions=answers))
        return offset_commit.OffsetCommitResponse(topics=topics)

    def _on_offset_fetch(self, _node: int, request: offset_fetch.OffsetFetchRequest) -> Message:
        topics = [
            offset_fetch.OffsetFetchResponseTopics(
                name=place.topic,
                partitions=[
                    offset_fetch.OffsetFetchResponsePartitions(
                        partition_index=place.partition, committed_offset=offset
                    )
                ],
            )
            for place, offset in self.committed.items()
        ]
        group = offset_fetch.OffsetFetchResponseGroup(group_id=request.groups[0].group_id, topics=topics)
        return offset_fetch.OffsetFetchResponse(groups=[group])


class FakeBroker:
    """Listens; a thread accepts and each connection has a thread."""

    def __init__(self, cluster: FakeCluster, node_id: int) -> None:
        self.node_id = node_id
        self.is_stopped = False
        self._cluster = cluster
        self._connections: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = Address("127.0.0.1", self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        """Closes the door and hangs up on everybody."""
        self.is_stopped = True
        self._hang_up(self._listener)
        self.drop_connections()

    def drop_connections(self) -> None:
        for connection in list(self._connections):
            self._hang_up(connection)

    @staticmethod
    def _hang_up(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._connections.add(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            stream = connection.makefile("rb")
            while size := stream.read(4):
                frame = stream.read(int.from_bytes(size, "big"))
                header, request = decode_request(frame)
                told = self._cluster.respond(self.node_id, header.api_key, request)
                if told is None:
                    break
                if header.api_key != PRODUCE or getattr(request, "acks", -1) != 0:
                    connection.sendall(
                        encode_response(header.api_key, header.api_version, header.correlation_id, told)
                    )
            self._hang_up(connection)
        self._connections.discard(connection)


def _next_offset(batch: bytes) -> int:
    assert len(batch) >= HEADER_BYTES
    return parse_header(batch).next_offset


def _offset_at(part: FakePartition, timestamp_ms: int) -> int:
    for batch in part.batches:
        header = parse_header(batch)
        for record in decode_records(batch):
            if header.base_timestamp + record.timestamp_delta >= timestamp_ms:
                return header.base_offset + record.offset_delta
    return -1
