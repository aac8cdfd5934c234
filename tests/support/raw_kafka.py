"""Kafka by hand, on a socket: whatever bytes a test wants to send, and what a peer sees of the answer."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mainstem.model.records import NewRecord, build_batch
from mainstem.wire.kafka.apis import APIS
from mainstem.wire.kafka.codec import encode
from mainstem.wire.kafka.frames import decode_response
from mainstem.wire.kafka.message import Message
from mainstem.wire.kafka.messages import api_versions, create_topics, fetch, list_offsets, metadata, produce

PRODUCE, FETCH, LIST_OFFSETS, METADATA, API_VERSIONS, CREATE_TOPICS = 0, 1, 2, 3, 18, 19
TIMEOUT_S = 30.0


class Closed(Exception):
    """The broker closed the connection."""


def framed(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def header(
    key: int, version: int, number: int = 1, client_id: bytes | None = b"raw", tags: bytes = b"\0"
) -> bytes:
    """`tags` only where the version has them."""
    api = APIS.get(key)
    size = -1 if client_id is None else len(client_id)
    flexible = api is not None and version >= api.flexible_from
    return struct.pack(">hhih", key, version, number, size) + (client_id or b"") + (tags if flexible else b"")


def request(message: Message, version: int, number: int = 1) -> bytes:
    """The frame of a whole request."""
    return framed(header(type(message).SCHEMA.key, version, number) + encode(message, version))


class RawConnection:
    def __init__(self, address: tuple[str, int], *, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(TIMEOUT_S)
        self.socket.connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data: bytes) -> None:
        """Raises `Closed` where the broker does not want it any more."""
        try:
            self.socket.sendall(data)
        except ConnectionError as error:
            raise Closed from error

    def receive(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            try:
                piece = self.socket.recv(count - len(parts))
            except ConnectionError as error:
                raise Closed from error
            if not piece:
                raise Closed
            parts += piece
        return bytes(parts)

    def receive_frame(self) -> bytes:
        (size,) = struct.unpack(">i", self.receive(4))
        return self.receive(size)

    def ask(self, message: Message, version: int, number: int = 1) -> Any:
        self.send(request(message, version, number))
        return self.answer(type(message).SCHEMA.key, version)

    def answer(self, key: int, version: int) -> Any:
        return decode_response(key, version, self.receive_frame())[1]

    def is_closed_by_peer(self) -> bool:
        """Reads what is left; True at its end, False where nothing comes for long."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def outcome_of(address: tuple[str, int], data: bytes) -> str:
    """What comes of sending this and then waiting: "answered" or "closed"."""
    with RawConnection(address) as peer:
        try:
            peer.send(data)
            peer.receive_frame()
        except Closed:
            return "closed"
        return "answered"


# ---------------------------------------------------------------------------- plain requests


def batch(*values: bytes, key: bytes | None = b"k", codec: int = 0, time_ms: int | None = None) -> bytes:
    now_ms = int(time.time() * 1000) if time_ms is None else time_ms
    return build_batch([NewRecord(key, value, timestamp_ms=now_ms) for value in values], codec=codec)


def produce_request(topic: str, records: bytes | None, partition: int = 0) -> Message:
    one = produce.PartitionProduceData(index=partition, records=records)
    return produce.ProduceRequest(
        acks=-1, timeout_ms=30_000, topic_data=[produce.TopicProduceData(name=topic, partition_data=[one])]
    )


def produce_error(peer: RawConnection, topic: str, records: bytes | None, partition: int = 0) -> int:
    """The error code of the partition."""
    answer = peer.ask(produce_request(topic, records, partition), 9)
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def create_topic(peer: RawConnection, name: str, partitions: int = 1, **config: str) -> None:
    settings = [
        create_topics.CreatableTopicConfig(name=key.replace("_", "."), value=value)
        for key, value in config.items()
    ]
    topic = create_topics.CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=1, configs=settings
    )
    answer = peer.ask(create_topics.CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 7)
    assert answer.topics[0].error_code == 0, answer.topics[0]


def end_offset(peer: RawConnection, topic: str, partition: int = 0, timestamp: int = -1) -> tuple[int, int]:
    """Error code and offset: the end of the partition, or what ListOffsets says of a time."""
    one = list_offsets.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    asked = list_offsets.ListOffsetsRequest(
        replica_id=-1, topics=[list_offsets.ListOffsetsTopic(name=topic, partitions=[one])]
    )
    found = peer.ask(asked, 7).topics[0].partitions[0]
    return found.error_code, found.offset


def fetched(peer: RawConnection, topic: str, offset: int = 0, max_bytes: int = 1 << 20) -> bytes:
    one = fetch.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
    asked = fetch.FetchRequest(
        max_wait_ms=100,
        min_bytes=1,
        max_bytes=max_bytes,
        session_epoch=-1,
        topics=[fetch.FetchTopic(topic=topic, partitions=[one])],
    )
    found = peer.ask(asked, 11).responses[0].partitions[0]
    assert found.error_code == 0, found.error_code
    return bytes(found.records or b"")


# ---------------------------------------------------------------------------- who must not notice


class Bystander:
    """A good client beside the bad ones: writes and reads all the time, and remembers what went wrong."""

    def __init__(self, address: tuple[str, int], topic: str) -> None:
        self.rounds = 0
        self.problem: BaseException | None = None
        self.slowest_s = 0.0
        self._topic = topic
        self._address = address
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        with RawConnection(self._address) as peer:
            answer = peer.ask(metadata.MetadataRequest(topics=None), 9)
            if self._topic not in {topic.name for topic in answer.topics}:
                create_topic(peer, self._topic)
        self._thread.start()
        self.wait_rounds(1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.wait_rounds(2)
        self._stop.set()
        self._thread.join(TIMEOUT_S)
        if kind is None:
            assert self.problem is None, repr(self.problem)

    def wait_rounds(self, count: int) -> None:
        """Until so many more rounds went well."""
        wanted = self.rounds + count
        wait_until(lambda: self.problem is not None or self.rounds >= wanted)
        assert self.problem is None, repr(self.problem)

    def _run(self) -> None:
        try:
            with RawConnection(self._address) as peer:
                while not self._stop.wait(0.01):
                    started = time.monotonic()
                    self._round(peer)
                    self.slowest_s = max(self.slowest_s, time.monotonic() - started)
                    self.rounds += 1
        except BaseException as error:
            self.problem = error

    def _round(self, peer: RawConnection) -> None:
        value = b"good %d" % self.rounds
        answer = peer.ask(produce_request(self._topic, batch(value)), 9)
        written = answer.responses[0].partition_responses[0]
        assert written.error_code == 0
        assert value in fetched(peer, self._topic, written.base_offset)
        assert peer.ask(api_versions.ApiVersionsRequest(), 0).error_code == 0


def wait_until(is_so: Callable[[], bool], timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


def peak_resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def cpu_seconds(pid: int) -> float:
    """What the process has used of processors so far: says what work cost, however busy the machine is."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
