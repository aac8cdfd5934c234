"""A session's surroundings for its tests: a channel that remembers, and a head whose one API echoes."""

from __future__ import annotations

import struct
from collections import deque
from types import SimpleNamespace
from typing import Any

from tests.support.simulated_clock import SimulatedClock

from mainstem.config.broker import BrokerConfig
from mainstem.core.quotas.clients import ClientQuotas
from mainstem.heads.kafka.connection import KafkaSession
from mainstem.heads.kafka.context import Api, Exchange
from mainstem.heads.kafka.deadlines import BegunChanges
from mainstem.heads.kafka.meters import ApiMeter, HeadMeters
from mainstem.heads.session import PendingAnswer
from mainstem.model.batch import Buffer
from mainstem.server.buffers import RequestMemory

ECHO, FLEXIBLE_ECHO, LONG_POLL, BROKEN, BROKEN_LATER = 100, 101, 102, 103, 104
REFUSED_VERSION = 99  # of ECHO: answered, as ApiVersions is


class RecordingChannel:
    """Sends in order, like the server's, into a list."""

    peer_host = "192.0.2.1"
    peer_certificate: bytes | None = None
    listener = "kafka"

    def __init__(self, memory: RequestMemory) -> None:
        self.buffers = memory
        self.is_congested = False
        self.is_paused = False
        self.is_closed = False
        self.closed_because: str | None = None
        self.sent: list[bytes] = []
        self.flushes = 0
        self._order: deque[PendingAnswer] = deque()

    def reserve(self, answer: PendingAnswer) -> None:
        self._order.append(answer)

    def answered(self) -> None:
        while self._order and self._order[0].parts is not None:
            data = b"".join(bytes(part) for part in self._order.popleft().parts or ())  # type: ignore[arg-type]
            if data:
                self.sent.append(data)

    def flush(self) -> None:
        self.flushes += 1

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False

    def close(self, reason: str | None = None) -> None:
        self.is_closed = True
        self.closed_because = reason


class EchoExchange(Exchange):
    """Answers with its body, at once where the body begins with "now", else when the test says so."""

    __slots__ = ("body", "buffer_while_serving", "is_cancelled")

    def serve(self, data: Buffer, position: int, end: int) -> None:
        self.body = bytes(data[position:end])
        self.buffer_while_serving = self.buffer
        self.is_cancelled = False
        self.session.head.started.append(self)  # type: ignore[attr-defined]
        if self.body.startswith(b"now"):
            self.finish()

    def finish(self) -> None:
        self.answer((b"%d:" % self.correlation_id, self.body))

    def cancel(self) -> None:
        self.is_cancelled = True
        self.answer(())


class LongPollExchange(EchoExchange):
    __slots__ = ()

    @property
    def is_long_poll(self) -> bool:
        return True


class BrokenExchange(Exchange):
    __slots__ = ()

    def serve(self, data: Buffer, position: int, end: int) -> None:  # noqa: ARG002
        if self.api.key == BROKEN:
            raise RuntimeError("nobody thought of this")
        struct.unpack_from(">q", data, len(data))


class RefusedVersionExchange(Exchange):
    __slots__ = ()

    def serve(self, data: Buffer, position: int, end: int) -> None:  # noqa: ARG002
        self.answer((b"refused",))


class EchoHead:
    def __init__(self, *, max_request_bytes: int = 1 << 20, max_held_bytes: int = 1 << 20) -> None:
        self.max_request_bytes = max_request_bytes
        self.max_held_bytes = max_held_bytes
        self.meters = HeadMeters()
        self.started: list[EchoExchange] = []
        self.clock = SimulatedClock()
        self.quotas = ClientQuotas.of(BrokerConfig.default(), self.clock.monotonic_ms)
        self.broker = SimpleNamespace(clock=self.clock, quotas=self.quotas)
        self.begun_changes = BegunChanges()
        self.authorizer = None
        never = 0x7FFF
        self.apis: dict[int, Api] = {
            ECHO: Api(ECHO, 2, 3, never, EchoExchange, ApiMeter()),
            FLEXIBLE_ECHO: Api(FLEXIBLE_ECHO, 0, 1, 1, EchoExchange, ApiMeter()),
            LONG_POLL: Api(LONG_POLL, 0, 0, never, LongPollExchange, ApiMeter()),
            BROKEN: Api(BROKEN, 0, 0, never, BrokenExchange, ApiMeter()),
            BROKEN_LATER: Api(BROKEN_LATER, 0, 0, never, BrokenExchange, ApiMeter()),
        }
        self.version_refusal = self.apis[ECHO]._replace(new_exchange=RefusedVersionExchange)


class Conversation:
    """One connection: bytes in, bytes out."""

    def __init__(self, head: Any = None, memory: RequestMemory | None = None) -> None:
        self.head = head or EchoHead()
        self.memory = memory or RequestMemory()
        self.channel = RecordingChannel(self.memory)
        self.session = KafkaSession(self.head, self.channel)

    def receive(self, data: bytes, pieces: int = 1 << 30) -> None:
        """As a socket would: no more at a time than `pieces` bytes, nor than the offered buffer holds."""
        position = 0
        while position < len(data) and not (self.channel.is_paused or self.channel.is_closed):
            room = self.session.get_buffer()
            count = min(len(room), len(data) - position, pieces)
            room[:count] = data[position : position + count]
            self.session.received(count)
            position += count

    @property
    def sent(self) -> list[bytes]:
        return self.channel.sent

    @property
    def started(self) -> list[EchoExchange]:
        started: list[EchoExchange] = self.head.started
        return started


def frame(
    body: bytes,
    number: int = 1,
    key: int = ECHO,
    version: int = 2,
    client_id: bytes | None = b"c",
    tags: bytes = b"",
) -> bytes:
    head = struct.pack(">hhih", key, version, number, -1 if client_id is None else len(client_id))
    content = head + (client_id or b"") + tags + body
    return struct.pack(">i", len(content)) + content
