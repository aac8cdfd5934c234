"""The server: its listeners, its connections, their coarse clock, and how it stops."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mainstem.core.identity.newcomers import Newcomers
from mainstem.server.addresses import bind, unavailable
from mainstem.server.buffers import RequestMemory
from mainstem.server.certificates import Certificates
from mainstem.server.connection import Connection, SessionFactory
from mainstem.server.limits import ConnectionCount, ServerLimits
from mainstem.server.metrics import ServerMeters
from mainstem.server.tls_acceptor import TlsAcceptor

_LOG = logging.getLogger(__name__)
_BACKLOG = 4096
_LONGEST_TICK_S = 30.0
_TICKS_PER_TIMEOUT = 10
MOST_HELD_OFF = 1_000  # connections for which there is a quota and that wait to be closed; others go at once


def _welcome(ip: str) -> int:  # noqa: ARG001
    return 0


@dataclass(frozen=True, slots=True)
class ListenerAddress:
    name: str
    host: str
    port: int


class Acceptor(Protocol):
    def close(self) -> None: ...


class Abortable(Protocol):
    """A connection that was not taken: a transport, or the bare socket of one that never got that far."""

    def abort(self) -> None: ...


class Server:
    """Holds every connection of every listener, so that limits count them together."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limits: ServerLimits) -> None:
        self.loop = loop
        self.limits = limits
        self.buffers = RequestMemory(limits.request_memory_bytes, limits.free_memory_bytes)
        self.meters = ServerMeters()
        self.counts = ConnectionCount(limits)
        self.tick = 0
        self.connection_delay_ms: Callable[[str], int] = _welcome  # by address; who sets quotas replaces it
        self._held_off: dict[Abortable, asyncio.TimerHandle] = {}
        self.newcomers = Newcomers()  # in the middle of a TLS handshake
        self._listeners: list[Acceptor] = []
        self._connections: set[Connection] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._all_gone: asyncio.Event = asyncio.Event()

    async def listen(
        self,
        name: str,
        host: str,
        port: int,
        new_session: SessionFactory,
        *,
        tls: Certificates | None = None,
    ) -> ListenerAddress:
        """Binds and accepts connections from now on. Port 0 takes a free one; the answer says which."""
        return await self.listen_on(name, bind(host, port), new_session, tls=tls)

    async def listen_on(
        self,
        name: str,
        sockets: Sequence[socket.socket],
        new_session: SessionFactory,
        *,
        tls: Certificates | None = None,
    ) -> ListenerAddress:
        """Accepts connections on bound sockets, which belong to the server from then on."""
        if tls is not None:
            await self._accept_tls(name, sockets, new_session, tls)
        else:
            await self._accept_plain(name, sockets, new_session)
        self._start_timer()
        address = sockets[0].getsockname()
        return ListenerAddress(name, address[0], address[1])

    async def _accept_plain(
        self, name: str, sockets: Sequence[socket.socket], new_session: SessionFactory
    ) -> None:
        for bound in sockets:
            try:
                listener = await self.loop.create_server(
                    lambda: Connection(self, name, new_session), sock=bound, backlog=_BACKLOG
                )
            except OSError as error:  # somebody bound the same address and listened first
                host, port, *_ = bound.getsockname()
                raise unavailable(f"{host}:{port}", error) from error
            self._listeners.append(listener)

    async def _accept_tls(
        self, name: str, sockets: Sequence[socket.socket], new_session: SessionFactory, tls: Certificates
    ) -> None:
        acceptor = TlsAcceptor(self, name, sockets, new_session, tls)
        self._listeners.append(acceptor)
        try:
            acceptor.start(_BACKLOG)
        except OSError as error:
            host, port, *_ = sockets[0].getsockname()
            raise unavailable(f"{host}:{port}", error) from error

    def update_limits(self, limits: ServerLimits) -> None:
        """Connections that are there stay, even above a lower limit."""
        self.limits = limits
        self.counts.limits = limits
        self.buffers.limit = limits.request_memory_bytes

    async def stop(self, deadline_s: float) -> None:
        """Accepts no more, lets requests that have begun finish until the deadline, then closes."""
        for listener in self._listeners:
            listener.close()
        for transport in list(self._held_off):
            self._let_go(transport)
        for connection in list(self._connections):
            connection.drain()
        try:
            async with asyncio.timeout(deadline_s):
                await self._wait_all_gone()
        except TimeoutError:
            _LOG.warning("closing %d connections that did not finish in time", len(self._connections))
            for connection in list(self._connections):
                connection.abort()
            await self._wait_all_gone()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _wait_all_gone(self) -> None:
        self._all_gone.clear()
        if self._connections:
            await self._all_gone.wait()

    # --- called by connections

    def opened(self, connection: Connection) -> None:
        self._connections.add(connection)

    def gone(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._all_gone.set()

    def hold_off(self, transport: Abortable, delay_ms: int) -> None:
        if len(self._held_off) >= MOST_HELD_OFF:
            transport.abort()
            return
        self._held_off[transport] = self.loop.call_later(delay_ms / 1000, self._let_go, transport)

    def _let_go(self, transport: Abortable) -> None:
        self._held_off.pop(transport).cancel()
        transport.abort()

    # --- idle connections

    def _start_timer(self) -> None:
        if self.limits.idle_timeout_ms > 0 and self._timer is None:
            self._timer = self.loop.call_later(self._tick_s(), self._on_tick)

    def _tick_s(self) -> float:
        return min(_LONGEST_TICK_S, self.limits.idle_timeout_ms / 1000 / _TICKS_PER_TIMEOUT)

    def _on_tick(self) -> None:
        """One timer for all: a connection notes the tick of its last sign of life."""
        self._timer = self.loop.call_later(self._tick_s(), self._on_tick)
        self.tick += 1
        oldest = self.tick - self.limits.idle_timeout_ms / 1000 / self._tick_s()
        for connection in [each for each in self._connections if each.last_tick <= oldest]:
            if not connection.is_answering:
                self.meters.connections_idle_closed += 1
                connection.abort()
