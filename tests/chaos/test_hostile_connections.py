"""Peers that dawdle, do not read, or are too many: memory stays bounded and others are served."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.support.broker_process import BrokerProcess
from tests.support.raw_kafka import (
    METADATA,
    PRODUCE,
    Bystander,
    Closed,
    RawConnection,
    create_topic,
    fetched,
    forget_peak,
    framed,
    header,
    peak_resident_bytes,
    produce_error,
    request,
    resident_bytes,
    wait_until,
)
from tests.support.raw_kafka import batch as batch_of

from mainstem.wire.kafka.messages import api_versions, fetch, metadata

Address = tuple[str, int]
MANY = 10_000
ASK = request(metadata.MetadataRequest(topics=[]), 9)


@pytest.fixture(scope="module")
def hostile_options() -> dict[str, str]:
    return {
        "log.open.files.max": "500",
        "queued.max.request.bytes": str(64 << 20),
        "socket.request.max.bytes": str(32 << 20),
    }


@pytest.fixture(autouse=True)
def descriptors() -> Iterator[None]:
    """As many as the system grants."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def connected(address: Address, count: int, stack: ExitStack) -> list[socket.socket]:
    found = []
    for _ in range(count):
        one = socket.create_connection(address, 30)
        stack.callback(one.close)
        found.append(one)
    return found


@pytest.mark.usefixtures("watched")
def test_a_request_that_comes_a_byte_at_a_time_is_served(peer: RawConnection) -> None:
    for byte in ASK:
        peer.send(bytes((byte,)))
    peer.answer(METADATA, 9)


@pytest.mark.usefixtures("watched")
def test_requests_that_never_end_stop_nobody(address: Address) -> None:
    with ExitStack() as stack:
        for number, half in enumerate(connected(address, 300, stack)):
            half.sendall(ASK[: number % len(ASK)])
        with RawConnection(address) as peer:
            peer.ask(metadata.MetadataRequest(topics=[]), 9)


def test_ten_thousand_connections(address: Address, watched: BrokerProcess) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert hard >= MANY + 1_500, f"this machine grants {hard} open files; the test needs {MANY + 1_500}"
    before = resident_bytes(watched.pid)
    with ExitStack() as stack:
        connections = connected(address, MANY, stack)
        for each in connections:
            each.sendall(ASK)
        for each in connections:
            (size,) = struct.unpack(">i", each.recv(4, socket.MSG_WAITALL))
            assert len(each.recv(size, socket.MSG_WAITALL)) == size
        assert resident_bytes(watched.pid) - before < MANY * 10_000
        with Bystander(address, "among-many"):
            pass
    with RawConnection(address) as peer:
        assert peer.ask(api_versions.ApiVersionsRequest(), 0).error_code == 0


def test_beginnings_of_large_requests_cost_what_came_of_them(
    address: Address, watched: BrokerProcess
) -> None:
    """A peer that was believed once, because it did send a megabyte, is not believed blindly after."""
    large = request(metadata.MetadataRequest(topics=[]), 9)
    large = struct.pack(">i", len(large) - 4 + 1_000_000) + large[4:] + bytes(1_000_000)  # bytes at its end
    with ExitStack() as stack:
        connections = connected(address, 1_000, stack)
        for each in connections:
            each.sendall(large)
            (size,) = struct.unpack(">i", each.recv(4, socket.MSG_WAITALL))
            each.recv(size, socket.MSG_WAITALL)
        settled = resident_bytes(watched.pid)
        forget_peak(watched.pid)
        for each in connections:
            each.sendall(large[:10])
        with Bystander(address, "bystander"):
            pass
        assert peak_resident_bytes(watched.pid) - settled < 100 << 20


def test_many_half_requests_cost_a_bounded_amount(address: Address, watched: BrokerProcess) -> None:
    before = resident_bytes(watched.pid)
    forget_peak(watched.pid)
    half = framed(header(PRODUCE, 7) + bytes(4_000_000))[:120_000]
    with ExitStack() as stack:
        for each in connected(address, 3_000, stack):
            with contextlib.suppress(OSError):
                each.sendall(half)
        with Bystander(address, "bystander"):
            pass
        assert peak_resident_bytes(watched.pid) - before < 250 << 20


def flooded(peer: RawConnection, data: bytes, most: int) -> int:
    """Sends it again and again and reads nothing, until nothing more is taken; how often."""
    peer.socket.settimeout(1.0)
    for count in range(most):
        try:
            peer.send(data)
        except (TimeoutError, Closed):
            return count
    return most


def test_a_peer_that_never_reads_is_not_served_for_ever(address: Address, watched: BrokerProcess) -> None:
    """Answers that nobody takes are not piled up: the peer's requests wait instead."""
    with RawConnection(address) as peer:
        create_topic(peer, "wide", partitions=2_000)
    everything = request(metadata.MetadataRequest(topics=None), 9)
    forget_peak(watched.pid)
    before = resident_bytes(watched.pid)
    with ExitStack() as stack:
        for _ in range(4):
            deaf = stack.enter_context(RawConnection(address, receive_buffer=4096))
            assert flooded(deaf, everything * 3_000, 400) < 400
        with Bystander(address, "bystander"):
            pass
        assert peak_resident_bytes(watched.pid) - before < 200 << 20


def test_many_slow_consumers_share_a_bounded_memory(address: Address, watched: BrokerProcess) -> None:
    with RawConnection(address) as peer:
        create_topic(peer, "slow")
        for _ in range(30):
            assert produce_error(peer, "slow", batch_of(bytes(900_000))) == 0
        assert fetched(peer, "slow", 29, 1 << 20)
    one = fetch.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=50 << 20)
    asked = fetch.FetchRequest(
        max_wait_ms=100,
        min_bytes=1,
        max_bytes=50 << 20,
        session_epoch=-1,
        topics=[fetch.FetchTopic(topic="slow", partitions=[one])],
    )
    before = resident_bytes(watched.pid)
    forget_peak(watched.pid)
    with ExitStack() as stack:
        slow = [stack.enter_context(RawConnection(address, receive_buffer=4096)) for _ in range(300)]
        for each in slow:
            each.send(request(asked, 11) * 10)
        with Bystander(address, "bystander"):
            pass
        assert peak_resident_bytes(watched.pid) - before < 100 << 20
        for each in slow[:3]:
            for _ in range(2):
                found = each.answer(1, 11).responses[0].partitions[0]
                assert len(found.records) > 25_000_000


def test_who_goes_leaves_nothing_behind(address: Address, watched: BrokerProcess) -> None:
    waiting = fetch.FetchRequest(max_wait_ms=2**31 - 1, min_bytes=1, max_bytes=1, session_epoch=-1, topics=[])
    one = fetch.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    with RawConnection(address) as peer:
        create_topic(peer, "empty")
    waiting.topics = [fetch.FetchTopic(topic="empty", partitions=[one])]
    before = open_files(watched.pid)
    for _ in range(3):
        with ExitStack() as stack:
            for each in connected(address, 200, stack):
                each.sendall(request(waiting, 11) * 5 + ASK[:7])
    wait_until(lambda: open_files(watched.pid) < before + 50)


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))
