"""One connection: the transport below, the head's session above, and the rules between them.

    open      bytes go to the session, answers to the outbox
    closing   nothing is read any more; closed once all that is ready has left
    closed    the transport is gone; late answers are dropped

Reading pauses while the session asks for it. A peer that does not read what it asked for is congested
once more than the high-water mark waits for it; its session then takes no further request until the rest
is below the low-water mark.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Protocol, cast

from mainstem.heads.session import Channel, PendingAnswer, ReceiveBuffers, Session
from mainstem.server.limits import ConnectionCount, ServerLimits
from mainstem.server.metrics import ServerMeters
from mainstem.server.outbox import Outbox, Sender
from mainstem.server.socket_sender import SocketSender
from mainstem.server.transport_sender import TransportSender

_LOG = logging.getLogger(__name__)

SessionFactory = Callable[[Channel], Session]


class ConnectionHost(Protocol):
    """What a connection needs of the server that holds it."""

    loop: asyncio.AbstractEventLoop
    limits: ServerLimits
    meters: ServerMeters
    counts: ConnectionCount
    tick: int  # coarse time, for idle time-outs

    @property
    def buffers(self) -> ReceiveBuffers: ...

    def connection_delay_ms(self, ip: str) -> int:
        """How long a connection that comes too soon is held before it is closed; 0: it is welcome."""
        ...

    def opened(self, connection: Connection) -> None: ...

    def gone(self, connection: Connection) -> None: ...

    def hold_off(self, transport: asyncio.Transport, delay_ms: int) -> None: ...


class Connection(asyncio.BufferedProtocol):
    """A protocol to the loop, a channel to the session."""

    __slots__ = (
        "_host",
        "_is_admitted",
        "_is_closing",
        "_is_gone",
        "_is_paused",
        "_new_session",
        "_outbox",
        "_sender",
        "_session",
        "_transport",
        "buffers",
        "is_congested",
        "last_tick",
        "listener",
        "peer_certificate",
        "peer_host",
    )

    _outbox: Outbox
    _sender: Sender
    _session: Session
    _transport: asyncio.Transport

    def __init__(
        self,
        host: ConnectionHost,
        listener: str,
        new_session: SessionFactory,
        *,
        admitted_ip: str | None = None,
    ) -> None:
        """`admitted_ip`: the connection was counted already, when it was accepted."""
        self._host = host
        self._new_session = new_session
        self._is_admitted = admitted_ip is not None
        self._is_closing = False
        self._is_gone = False
        self._is_paused = False
        self.listener = listener
        self.buffers = host.buffers
        self.is_congested = False
        self.last_tick = host.tick
        self.peer_host = admitted_ip or ""
        self.peer_certificate: bytes | None = None

    # --- called by the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        host = self._host
        if not self._is_admitted and not self._admit():
            return
        meters = host.meters
        meters.connections_total += 1
        meters.connections_open += 1
        encryption = transport.get_extra_info("ssl_object")
        if encryption is not None:
            self.peer_certificate = encryption.getpeercert(binary_form=True)
            self._sender = TransportSender(
                self._transport, host.loop, meters, self._on_drained, self._on_failed
            )
        else:
            raw = transport.get_extra_info("socket")
            if raw.family in (socket.AF_INET, socket.AF_INET6):
                raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sender = SocketSender(raw.fileno(), host.loop, meters, self._on_drained, self._on_failed)
        self._outbox = Outbox(host.loop, self._sender)
        self._session = self._new_session(self)
        host.opened(self)

    def _admit(self) -> bool:
        host = self._host
        peer = self._transport.get_extra_info("peername")
        self.peer_host = peer[0] if peer else ""
        if host.counts.admit(self.peer_host):
            delay_ms = host.connection_delay_ms(self.peer_host)
            if delay_ms:
                self._hold_off(delay_ms)
            self._is_admitted = delay_ms == 0
            return self._is_admitted
        host.meters.connections_refused += 1
        _LOG.warning("refused a connection from %s: too many connections", self.peer_host)
        self._is_closing = self._is_gone = True
        self._transport.abort()
        return False

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        return self._session.get_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        if self._is_closing:
            return
        self._host.meters.bytes_in += nbytes
        outbox = self._outbox
        outbox.is_corked = True
        try:
            self._session.received(nbytes)
        finally:
            outbox.is_corked = False
            outbox.flush()
        if self._sender.pending_bytes:
            self._check_congestion()

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        if isinstance(self._sender, TransportSender):
            self._sender.pause()

    def resume_writing(self) -> None:
        if isinstance(self._sender, TransportSender):
            self._sender.resume()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if not self._is_admitted:
            return
        self._is_closing = self._is_gone = True
        self._host.counts.leave(self.peer_host)
        self._host.meters.connections_open -= 1
        self._host.gone(self)
        self._outbox.close()
        self._session.closed()

    def _hold_off(self, delay_ms: int) -> None:
        """The address connects too often: it waits without an answer, and is then sent away."""
        self._host.counts.leave(self.peer_host)
        self._host.meters.connections_throttled += 1
        self._is_closing = self._is_gone = True
        self._transport.pause_reading()
        self._host.hold_off(self._transport, delay_ms)

    # --- called by the session

    def reserve(self, answer: PendingAnswer) -> None:
        self._outbox.reserve(answer)

    def answered(self) -> None:
        if self._is_gone:
            return
        self.last_tick = self._host.tick
        self._outbox.answered()
        if self._sender.pending_bytes:
            self._check_congestion()

    def flush(self) -> None:
        self._outbox.flush()
        if self._sender.pending_bytes:
            self._check_congestion()

    def pause(self) -> None:
        if not self._is_paused and not self._is_closing:
            self._is_paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._is_paused and not self._is_closing:
            self._is_paused = False
            self._transport.resume_reading()

    def close(self, reason: str | None = None) -> None:
        if self._is_closing:
            return
        if reason is not None:
            _LOG.warning("closing the connection of %s: %s", self.peer_host, reason)
        self.pause()
        self._is_closing = True
        self._outbox.flush()
        self._close_if_sent()

    # --- called by the server

    @property
    def is_idle(self) -> bool:
        """Whether nothing is asked and nothing is owed."""
        return not self._session.is_busy and self._outbox.is_empty

    @property
    def has_begun(self) -> bool:
        """Whether the transport was made: the connection counts itself out when it is lost."""
        return hasattr(self, "_transport")

    @property
    def is_answering(self) -> bool:
        return self._session.is_busy

    def drain(self) -> None:
        if not self._is_closing:
            self._session.drain()

    def abort(self) -> None:
        if not self._is_gone:
            self._is_closing = self._is_gone = True
            self._outbox.close()
        self._transport.abort()  # a close that waits for the peer's end of TLS waits no longer

    # ---

    def _check_congestion(self) -> None:
        if not self.is_congested and self._sender.pending_bytes > self._host.limits.outgoing_high_bytes:
            self.is_congested = True

    def _on_drained(self) -> None:
        self.last_tick = self._host.tick
        if self._is_closing:
            self._close_if_sent()
        elif self.is_congested and self._sender.pending_bytes <= self._host.limits.outgoing_low_bytes:
            self.is_congested = False
            self._session.uncongested()

    def _on_failed(self, error: OSError) -> None:
        """The peer went away, or a file was not what it should be: no byte may follow."""
        if not isinstance(error, ConnectionError):
            _LOG.warning("cannot send to %s: %s", self.peer_host, error)
        self.abort()

    def _close_if_sent(self) -> None:
        if self._sender.is_idle and not self._is_gone:
            self._is_gone = True
            self._sender.close()
            self._transport.close()
