"""TLS connections from their first byte to their end: what is counted, bounded and closed."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from tests.support.certificates import Authority
from tests.support.deadline import eventually_async

from mainstem.heads.session import Channel
from mainstem.server.buffers import RequestMemory
from mainstem.server.certificates import Certificates, TlsFiles
from mainstem.server.limits import ServerLimits
from mainstem.server.listener import ListenerAddress, Server


class Answer:
    def __init__(self, data: bytes) -> None:
        self.parts = (data,)


class EchoSession:
    """Sends back what comes."""

    is_busy = False

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._memory = RequestMemory()

    def get_buffer(self) -> memoryview:
        return self._memory.shared

    def received(self, count: int) -> None:
        self._channel.reserve(Answer(bytes(self._memory.shared[:count])))
        self._channel.answered()

    def uncongested(self) -> None: ...

    def drain(self) -> None:
        self._channel.close()

    def closed(self) -> None: ...


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@asynccontextmanager
async def serving(
    authority: Authority, limits: ServerLimits | None = None
) -> AsyncIterator[tuple[Server, ListenerAddress]]:
    file = str(authority.write("server", "localhost"))
    server = Server(asyncio.get_running_loop(), limits or ServerLimits())
    certificates = Certificates("SSL", TlsFiles(file, file, None))
    address = await server.listen("SSL", "127.0.0.1", 0, EchoSession, tls=certificates)
    try:
        yield server, address
    finally:
        await server.stop(5)
        await eventually_async(
            lambda: (server.counts.total, server.newcomers.count) == (0, 0), "nothing is left"
        )


@contextmanager
def silent(address: ListenerAddress, count: int) -> Iterator[list[socket.socket]]:
    """Peers that connect and say nothing."""
    peers = [socket.create_connection((address.host, address.port), 10) for _ in range(count)]
    try:
        yield peers
    finally:
        for each in peers:
            each.close()


async def echo(authority: Authority, address: ListenerAddress, data: bytes) -> bytes:
    context = ssl.create_default_context(cafile=str(authority.file))
    reader, writer = await asyncio.open_connection(
        address.host, address.port, ssl=context, server_hostname="localhost"
    )
    writer.write(data)
    answer = await reader.readexactly(len(data))
    writer.close()
    return answer


async def test_what_is_said_comes_back(authority: Authority) -> None:
    async with serving(authority) as (server, address):
        data = bytes(range(256)) * 4000
        assert await asyncio.wait_for(echo(authority, address, data), 30) == data
        assert (server.meters.tls_handshakes, server.meters.tls_handshakes_failed) == (1, 0)
        assert server.meters.bytes_in == server.meters.bytes_out == len(data)


async def test_peers_that_say_nothing_are_closed_in_time_and_counted_out(authority: Authority) -> None:
    async with serving(authority, ServerLimits(login_timeout_ms=200)) as (server, address):
        with silent(address, 5):
            await eventually_async(lambda: server.meters.tls_handshakes_failed == 5, "all time out")
            await eventually_async(lambda: server.counts.total == 0, "none is counted any more")


async def test_unfinished_handshakes_are_bounded_and_finished_ones_are_not_among_them(
    authority: Authority,
) -> None:
    async with serving(authority, ServerLimits(max_unfinished_handshakes=6)) as (server, address):
        assert await echo(authority, address, b"before") == b"before"
        with silent(address, 3):
            await eventually_async(lambda: server.newcomers.count == 3, "they are in the middle")
            with pytest.raises((OSError, ssl.SSLError)):
                await echo(authority, address, b"one too many")
            assert server.meters.connections_refused == 1
        await eventually_async(lambda: server.newcomers.count == 0, "they left")
        assert await echo(authority, address, b"after") == b"after"


async def test_connections_of_an_address_are_bounded_before_their_handshake(authority: Authority) -> None:
    async with serving(authority, ServerLimits(max_connections_per_ip=1)) as (server, address):
        with silent(address, 1):
            await eventually_async(lambda: server.counts.total == 1, "it is counted")
            with pytest.raises((OSError, ssl.SSLError)):
                await echo(authority, address, b"x")


async def test_what_is_no_tls_is_refused(authority: Authority) -> None:
    async with serving(authority) as (server, address):
        with silent(address, 1) as (peer,):
            peer.sendall(b"\0\0\0\x10 not a handshake at all")
            await eventually_async(lambda: server.meters.tls_handshakes_failed == 1, "it fails")


async def test_a_stop_does_not_wait_for_handshakes(authority: Authority) -> None:
    async with serving(authority) as (server, address):
        with silent(address, 2):
            await eventually_async(lambda: server.newcomers.count == 2, "they are in the middle")
            await asyncio.wait_for(server.stop(5), 10)
            await eventually_async(lambda: server.counts.total == 0, "they are gone")
