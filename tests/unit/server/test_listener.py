"""The server over real sockets, with both event loops: order, files, slow peers, limits, silence, stops."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest
from tests.unit.server.line_session import LineHead

from mainstem.server.addresses import AddressUnavailable, bind
from mainstem.server.limits import ServerLimits
from mainstem.server.listener import Server
from mainstem.server.loop import LoopKind, new_event_loop, run

PATIENCE_S = 30.0
LOOPS = ("asyncio", "uvloop")


class Stage:
    """A server and the addresses of its clients."""

    def __init__(self, head: LineHead, limits: ServerLimits) -> None:
        self.head = head
        self.server = Server(asyncio.get_running_loop(), limits)
        self._open: list[Client] = []

    async def start(self) -> Stage:
        address = await self.server.listen("lines", "127.0.0.1", 0, self.head.new_session)
        self.address = (address.host, address.port)
        return self

    async def client(self, *, receive_buffer: int | None = None) -> Client:
        raw = socket.socket()
        if receive_buffer is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        raw.setblocking(False)
        await asyncio.get_running_loop().sock_connect(raw, self.address)
        client = Client(raw)
        self._open.append(client)
        return client

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not is_so():  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.002)

    async def close(self) -> None:
        for client in self._open:
            client.close()
        await self.server.stop(0.01)


class Client:
    def __init__(self, raw: socket.socket) -> None:
        self.raw = raw
        self._loop = asyncio.get_running_loop()

    async def say(self, *lines: str) -> None:
        await self._loop.sock_sendall(self.raw, "".join(f"{line}\n" for line in lines).encode())

    async def hear(self, count: int) -> bytes:
        heard = bytearray()
        async with asyncio.timeout(PATIENCE_S):
            while len(heard) < count:
                piece = await self._loop.sock_recv(self.raw, min(1 << 20, count - len(heard)))
                assert piece, f"closed after {bytes(heard)[:100]!r}"
                heard += piece
        return bytes(heard)

    async def expect(self, text: bytes) -> None:
        assert await self.hear(len(text)) == text

    async def ended(self) -> bytes:
        """What comes until the server closes."""
        heard = bytearray()
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    piece = await self._loop.sock_recv(self.raw, 1 << 20)
                except ConnectionError:
                    return bytes(heard)
                if not piece:
                    return bytes(heard)
                heard += piece

    def close(self) -> None:
        self.raw.close()


Scene = Callable[[Stage], Awaitable[None]]


@pytest.fixture(params=LOOPS)
def play(request: pytest.FixtureRequest) -> Callable[..., None]:
    def play_scene(scene: Scene, *, path: str = "", limits: ServerLimits | None = None) -> None:
        async def main() -> None:
            errors: list[dict[str, object]] = []
            asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
            stage = await Stage(LineHead(path), limits or ServerLimits()).start()
            try:
                await scene(stage)
            finally:
                await stage.close()
            assert not errors
            assert stage.server.counts.total == 0
            assert stage.server.meters.connections_open == 0

        run(main(), cast(LoopKind, request.param))

    return play_scene


@pytest.mark.parametrize("kind", LOOPS)
def test_the_loop_is_the_one_that_was_asked_for(kind: str) -> None:
    loop = new_event_loop(cast(LoopKind, kind))
    try:
        assert type(loop).__module__.startswith(kind)
    finally:
        loop.close()


def test_answers_come_in_the_order_of_requests(play: Callable[..., None]) -> None:
    async def scene(stage: Stage) -> None:
        client = await stage.client()
        await client.say("say one", "later two", "say three", "later four", "say five")
        await client.expect(b"one\n")
        await stage.until(lambda: len(stage.head.sessions[0].pending) == 2)
        stage.head.sessions[0].finish(1)
        stage.head.sessions[0].finish(0)
        await client.expect(b"two\nthree\nfour\nfive\n")

    play(scene)


def test_files_leave_whole_whatever_their_size(play: Callable[..., None], tmp_path: Path) -> None:
    content = bytes(range(256)) * 40_000
    path = tmp_path / "file"
    path.write_bytes(content)
    ranges = [(0, 1), (5, 32_000), (7, 40_000), (100, 5_000_003), (0, len(content)), (9, 9 + 32 * 1024)]

    async def scene(stage: Stage) -> None:
        client = await stage.client()
        for _ in range(2):
            await client.say(*(f"file {start} {end}" for start, end in ranges), "say done")
            for start, end in ranges:
                await client.expect(b"<" + content[start:end] + b">")
            await client.expect(b"done\n")
        meters = stage.server.meters
        assert meters.sendfile_bytes == 2 * sum(
            end - start for start, end in ranges if end - start > 32 * 1024
        )
        expected = sum(end - start + 2 for start, end in ranges) + len(b"done\n")
        assert meters.bytes_out == 2 * expected

    play(scene, path=str(path))


def test_a_file_that_is_too_short_ends_the_connection_and_nothing_follows(
    play: Callable[..., None], tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(100_000))

    async def scene(stage: Stage) -> None:
        for end in (200_000, 100_001):
            client = await stage.client()
            await client.say(f"file 0 {end}", "say never")
            assert b"never" not in await client.ended()

    play(scene, path=str(path))


def test_a_peer_that_does_not_read_is_asked_nothing_more(play: Callable[..., None]) -> None:
    limits = ServerLimits(outgoing_high_bytes=100_000, outgoing_low_bytes=10_000)
    text = "x" * 1_000

    async def scene(stage: Stage) -> None:
        deaf = await stage.client(receive_buffer=4096)
        talking = asyncio.ensure_future(deaf.say(*[f"say {text}"] * 20_000))
        await stage.until(lambda: bool(stage.head.sessions) and stage.head.sessions[0].was_congested > 0)
        session = stage.head.sessions[0]
        connection = next(iter(stage.server._connections))
        assert connection._sender.pending_bytes < 200_000
        other = await stage.client()
        await other.say("say hello")
        await other.expect(b"hello\n")
        assert await deaf.hear(20_000 * 1_001) == (text.encode() + b"\n") * 20_000
        await talking
        assert not session.lines  # what had to wait was served after all

    play(scene, limits=limits)


def test_a_slow_reader_of_files_costs_little_memory(play: Callable[..., None], tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(10_000_000))

    async def scene(stage: Stage) -> None:
        slow = await stage.client(receive_buffer=4096)
        await slow.say(*["file 0 10000000"] * 5, *["file 0 30000"] * 50)
        await stage.until(lambda: stage.server.meters.sendfile_bytes > 0)
        connection = next(iter(stage.server._connections))
        assert connection._sender.pending_bytes < 100_000
        assert len(await slow.hear(5 * 10_000_002 + 50 * 30_002)) == 5 * 10_000_002 + 50 * 30_002
        assert connection._sender.pending_bytes == 0
        assert connection._sender.is_idle

    play(scene, path=str(path))


def test_connections_above_a_limit_are_refused_until_others_go(play: Callable[..., None]) -> None:
    async def scene(stage: Stage) -> None:
        first, second = await stage.client(), await stage.client()
        for client in (first, second):
            await client.say("say in")
            await client.expect(b"in\n")
        third = await stage.client()
        assert await third.ended() == b""
        assert stage.server.meters.connections_refused == 1
        first.close()
        await stage.until(lambda: stage.server.counts.total == 1)
        fourth = await stage.client()
        await fourth.say("say in")
        await fourth.expect(b"in\n")
        stage.server.update_limits(ServerLimits(max_connections=1))
        await fourth.say("say still")
        await fourth.expect(b"still\n")

    play(scene, limits=ServerLimits(max_connections=2))


def test_silent_connections_are_closed_and_those_that_wait_for_us_are_not(play: Callable[..., None]) -> None:
    async def scene(stage: Stage) -> None:
        silent, waiting, half = await stage.client(), await stage.client(), await stage.client()
        await silent.say("say hello")
        await silent.expect(b"hello\n")
        await waiting.say("later answer")
        await half.say("later")
        half_sent = asyncio.get_running_loop().sock_sendall(half.raw, b"half a li")
        await half_sent
        await stage.until(lambda: any(session.pending for session in stage.head.sessions))
        assert await silent.ended() == b""
        assert stage.server.meters.connections_idle_closed >= 1
        for session in stage.head.sessions:
            if session.pending and session.pending[0].text:
                session.finish()
        await waiting.expect(b"answer\n")

    play(scene, limits=ServerLimits(idle_timeout_ms=300))


def test_no_time_out_where_none_is_wanted(play: Callable[..., None]) -> None:
    async def scene(stage: Stage) -> None:
        assert stage.server._timer is None

    play(scene, limits=ServerLimits(idle_timeout_ms=-1))


def test_a_stop_lets_what_has_begun_finish(play: Callable[..., None]) -> None:
    async def scene(stage: Stage) -> None:
        busy, idle, polling = await stage.client(), await stage.client(), await stage.client()
        await busy.say("later result")
        await idle.say("say hello")
        await idle.expect(b"hello\n")
        await polling.say("wait for-ever")
        await stage.until(lambda: sum(len(session.pending) for session in stage.head.sessions) == 2)
        stopping = asyncio.ensure_future(stage.server.stop(PATIENCE_S))
        assert await idle.ended() == b""
        assert await polling.ended() == b""
        assert not stopping.done()
        next(
            session for session in stage.head.sessions if session.pending[:1] and not session.is_closed
        ).finish()
        assert await busy.ended() == b"result\n"
        await stopping
        with pytest.raises(OSError):
            await stage.client()

    play(scene)


def test_a_stop_does_not_wait_for_ever(play: Callable[..., None]) -> None:
    async def scene(stage: Stage) -> None:
        stuck, deaf = await stage.client(), await stage.client(receive_buffer=4096)
        await stuck.say("later never")
        deaf_talk = asyncio.ensure_future(deaf.say(*["say " + "x" * 10_000] * 1_000))
        await stage.until(lambda: any(session.was_congested for session in stage.head.sessions))
        await stage.server.stop(0.1)
        assert all(session.is_closed for session in stage.head.sessions)
        deaf_talk.cancel()
        await asyncio.gather(deaf_talk, return_exceptions=True)

    play(scene, limits=ServerLimits(outgoing_high_bytes=50_000))


def test_a_close_lets_ready_answers_leave_first(play: Callable[..., None], tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(3_000_000))

    async def scene(stage: Stage) -> None:
        client = await stage.client(receive_buffer=4096)
        await client.say("file 0 3000000", "bye now", "say too late")
        assert await client.ended() == b"<" + bytes(3_000_000) + b">now\n"

    play(scene, path=str(path))


def test_a_peer_that_resets_takes_nobody_with_it(play: Callable[..., None], tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(8_000_000))

    async def scene(stage: Stage) -> None:
        for _ in range(5):
            rude = await stage.client(receive_buffer=4096)
            await rude.say("file 0 8000000", "later x", "file 0 8000000")
            rude.raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            rude.close()
        await stage.until(
            lambda: len(stage.head.sessions) == 5 and all(s.is_closed for s in stage.head.sessions)
        )
        for session in stage.head.sessions:
            for _ in range(len(session.pending)):
                session.finish()  # to nobody
        client = await stage.client()
        await client.say("say fine")
        await client.expect(b"fine\n")

    play(scene, path=str(path))


def test_a_port_that_is_taken_is_an_error_with_a_cure() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(AddressUnavailable, match="the port is in use; stop the process that has it"):
            bind("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(AddressUnavailable, match="this machine does not have the address"):
        bind("192.0.2.1", 0)


def test_all_addresses_share_one_port() -> None:
    sockets = bind("", 0)
    try:
        assert len({each.getsockname()[1] for each in sockets}) == 1
        assert {each.family for each in sockets} <= {socket.AF_INET, socket.AF_INET6}
        for each in sockets:
            with pytest.raises(OSError) as refused, socket.socket(each.family) as client:  # noqa: PT012
                client.settimeout(5)
                client.connect(
                    ("::1" if each.family == socket.AF_INET6 else "127.0.0.1", each.getsockname()[1])
                )
            assert refused.value.errno == errno.ECONNREFUSED  # bound, and not listening yet
    finally:
        for each in sockets:
            each.close()
