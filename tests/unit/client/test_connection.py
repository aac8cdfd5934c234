"""One connection: versions, frames, time limits, and peers that are no Kafka broker."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from tests.support.fake_cluster import METADATA, FakeCluster, pass_through

from mainstem.client.addresses import Address
from mainstem.client.connection import Connection
from mainstem.client.errors import (
    AnswerTooLate,
    BrokerUnreachable,
    ConnectionLost,
    RequestNotServed,
    UnexpectedAnswer,
)
from mainstem.wire.kafka.frames import decode_request, encode_response
from mainstem.wire.kafka.messages.api_versions import ApiVersion, ApiVersionsResponse
from mainstem.wire.kafka.messages.delete_groups import DeleteGroupsRequest
from mainstem.wire.kafka.messages.metadata import MetadataRequest, MetadataResponse

Peer = Callable[[socket.socket], None]


@contextlib.contextmanager
def peer(serve: Peer) -> Iterator[Address]:
    """One that accepts a single connection and does with it what the test says."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                serve(connection)

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield Address("127.0.0.1", listener.getsockname()[1])
    finally:
        listener.close()
        thread.join(5)


def read_frame(connection: socket.socket) -> bytes:
    size = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
    return connection.recv(size, socket.MSG_WAITALL)


VERSIONS = ApiVersionsResponse(
    api_keys=[
        ApiVersion(api_key=3, min_version=0, max_version=9),
        ApiVersion(api_key=18, min_version=0, max_version=3),
    ]
)


def answer_versions(connection: socket.socket) -> None:
    header, _ = decode_request(read_frame(connection))
    connection.sendall(encode_response(18, header.api_version, header.correlation_id, VERSIONS))


def test_the_highest_version_that_both_speak_is_taken() -> None:
    def serve(connection: socket.socket) -> None:
        answer_versions(connection)
        header, _ = decode_request(read_frame(connection))
        assert header.api_version == 9
        assert header.client_id == "tester"
        connection.sendall(encode_response(3, 9, header.correlation_id, MetadataResponse(cluster_id="c")))

    with peer(serve) as address:
        connection = Connection(address, client_id="tester")
        assert connection.request(MetadataRequest(topics=None), MetadataResponse).cluster_id == "c"
        with pytest.raises(RequestNotServed, match="does not serve DeleteGroups"):
            connection.version_of(DeleteGroupsRequest)
        connection.close()


def test_a_broker_older_than_the_question_is_asked_again_in_version_0() -> None:
    asked = []

    def serve(connection: socket.socket) -> None:
        for _ in range(2):
            header, _ = decode_request(read_frame(connection))
            asked.append(header.api_version)
            told = VERSIONS if header.api_version == 0 else ApiVersionsResponse(error_code=35)
            connection.sendall(encode_response(18, 0, header.correlation_id, told))

    with peer(serve) as address:
        Connection(address).close()
    assert asked == [3, 0]


def test_versions_without_overlap_are_told() -> None:
    too_new = ApiVersionsResponse(api_keys=[ApiVersion(api_key=3, min_version=90, max_version=99)])

    def serve(connection: socket.socket) -> None:
        header, _ = decode_request(read_frame(connection))
        connection.sendall(encode_response(18, 3, header.correlation_id, too_new))

    with peer(serve) as address:
        connection = Connection(address)
        with pytest.raises(RequestNotServed, match=r"versions 90-99, we speak 0-13"):
            connection.version_of(MetadataRequest)


@pytest.mark.parametrize(
    "garbage",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",  # its first four bytes are a frame of 1.2 GB
        b"\x15\x03\x01\x00\x02\x02\x46",  # a TLS alert
        b"\x00\x00\x00\x02ab",
        b"\x00\x00\x00\x08" + bytes(8),
    ],
)
def test_a_peer_that_is_no_broker_is_told_apart(garbage: bytes) -> None:
    def serve(connection: socket.socket) -> None:
        read_frame(connection)
        connection.sendall(garbage)

    with peer(serve) as address, pytest.raises(UnexpectedAnswer, match="does not answer as a Kafka broker"):
        Connection(address, timeout_s=5)


def test_an_answer_to_another_request_is_not_taken() -> None:
    def serve(connection: socket.socket) -> None:
        answer_versions(connection)
        header, _ = decode_request(read_frame(connection))
        connection.sendall(encode_response(3, 9, header.correlation_id + 1, MetadataResponse()))

    with peer(serve) as address:
        connection = Connection(address)
        with pytest.raises(UnexpectedAnswer, match=r"answer 3 came where 2 was due"):
            connection.request(MetadataRequest(topics=None), MetadataResponse)


def test_an_answer_that_trickles_does_not_get_more_time() -> None:
    def serve(connection: socket.socket) -> None:
        answer_versions(connection)
        read_frame(connection)
        with contextlib.suppress(OSError):
            connection.sendall(b"\x00\x00\x00\xff")
            for _ in range(100):
                connection.sendall(b"\x00")
                time.sleep(0.05)

    with peer(serve) as address:
        connection = Connection(address, timeout_s=0.4)
        started = time.monotonic()
        with pytest.raises(AnswerTooLate, match=r"did not answer Metadata within 0\.4 s"):
            connection.request(MetadataRequest(topics=None), MetadataResponse)
        assert time.monotonic() - started < 2
        connection.close()


def test_a_size_that_lies_costs_no_memory() -> None:
    def serve(connection: socket.socket) -> None:
        answer_versions(connection)
        read_frame(connection)
        connection.sendall((200 * 1024 * 1024).to_bytes(4, "big") + bytes(1000))

    import tracemalloc

    with peer(serve) as address:
        connection = Connection(address)
        tracemalloc.start()
        with pytest.raises(ConnectionLost, match="the broker closed it"):
            connection.request(MetadataRequest(topics=None), MetadataResponse)
        assert tracemalloc.get_traced_memory()[1] < 8 * 1024 * 1024
        tracemalloc.stop()


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(
        BrokerUnreachable, match=rf"cannot reach a broker at 127\.0\.0\.1:{port}: connection refused"
    ):
        Connection(Address("127.0.0.1", port))
    with pytest.raises(BrokerUnreachable, match="the host name is not known"):
        Connection(Address("no-such-host.invalid", 9092), timeout_s=5)


def test_a_broker_that_slows_us_down_is_left_alone_for_that_time() -> None:
    with FakeCluster() as cluster:
        connection = Connection(cluster.addresses[0])
        cluster.script(METADATA, lambda _request, _answer: MetadataResponse(throttle_time_ms=300))
        connection.request(MetadataRequest(topics=None), MetadataResponse)
        assert 0.1 < connection.throttled_s <= 0.3
        started = time.monotonic()
        connection.request(MetadataRequest(topics=None), MetadataResponse)
        assert time.monotonic() - started > 0.2
        assert connection.throttled_s == 0
        connection.close()


def test_a_time_without_end_is_not_believed() -> None:
    with FakeCluster() as cluster:
        connection = Connection(cluster.addresses[0])
        cluster.script(METADATA, lambda _request, _answer: MetadataResponse(throttle_time_ms=2**31 - 1))
        connection.request(MetadataRequest(topics=None), MetadataResponse)
        assert connection.throttled_s <= 60
        connection.close()


def test_answers_come_in_the_order_of_the_requests() -> None:
    with FakeCluster() as cluster:
        cluster.script(
            METADATA,
            lambda _request, _answer: MetadataResponse(cluster_id="first"),
            lambda _request, _answer: MetadataResponse(cluster_id="second"),
            pass_through,
        )
        connection = Connection(cluster.addresses[0])
        for _ in range(2):
            connection.send(MetadataRequest(topics=None), MetadataResponse)
        assert connection.unanswered_count == 2
        assert [connection.receive(MetadataResponse).cluster_id for _ in range(2)] == ["first", "second"]
        connection.close()
