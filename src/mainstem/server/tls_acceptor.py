"""Accepts connections of a TLS listener and sees them through their handshake.

    accepted   counted as a connection, and as an unfinished handshake; the context of now is used
    finished   a connection like any other: its session begins
    failed     closed: no TLS, no certificate that is believed, or too slow

The loop's own server would use one context for ever and let any number of peers begin a handshake and
leave it there. Here every connection gets the context that is in force when it comes, and there are no
more unfinished handshakes than a limit, each with a deadline.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from mainstem.server.certificates import Certificates
from mainstem.server.connection import Connection, SessionFactory

if TYPE_CHECKING:
    from mainstem.server.listener import Server

_LOG = logging.getLogger(__name__)
_ACCEPTS_PER_TURN: Final = 32
_FAILURES_TOLD: Final = 1000
_SHUTDOWN_S: Final = 5.0  # for the peer to say that it has heard the end
_PAUSE_S: Final = 0.5  # where the process has no descriptor left
_OUT_OF_FILES: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class _BareSocket:
    """A connection that waits, without a handshake, to be sent away."""

    def __init__(self, accepted: socket.socket) -> None:
        self._accepted = accepted

    def abort(self) -> None:
        self._accepted.close()


class TlsAcceptor:
    def __init__(
        self,
        server: Server,
        name: str,
        sockets: Sequence[socket.socket],
        new_session: SessionFactory,
        certificates: Certificates,
    ) -> None:
        self._server = server
        self._name = name
        self._sockets = list(sockets)
        self._new_session = new_session
        self._certificates = certificates
        self._handshakes: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def start(self, backlog: int) -> None:
        for each in self._sockets:
            each.listen(backlog)
            self._watch(each)

    def close(self) -> None:
        sockets = [] if self._is_closed else self._sockets
        self._is_closed = True
        for each in sockets:
            self._server.loop.remove_reader(each.fileno())
            each.close()
        for task in self._handshakes:
            task.cancel()

    def _watch(self, listening: socket.socket) -> None:
        if not self._is_closed:
            self._server.loop.add_reader(listening.fileno(), self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_ACCEPTS_PER_TURN):
            try:
                accepted, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _OUT_OF_FILES:
                    raise
                _LOG.error("cannot accept a connection: %s", error)
                self._server.loop.remove_reader(listening.fileno())
                self._server.loop.call_later(_PAUSE_S, self._watch, listening)
                return
            self._begin(accepted, address[0])

    def _begin(self, accepted: socket.socket, ip: str) -> None:
        server = self._server
        if not server.newcomers.enter(ip, server.limits.max_unfinished_handshakes):
            self._refuse(accepted, ip, "handshakes")
            return
        if not server.counts.admit(ip):
            server.newcomers.leave(ip)
            self._refuse(accepted, ip, "connections")
            return
        delay_ms = server.connection_delay_ms(ip)
        if delay_ms:
            server.newcomers.leave(ip)
            server.counts.leave(ip)
            server.meters.connections_throttled += 1
            server.hold_off(_BareSocket(accepted), delay_ms)
            return
        accepted.setblocking(False)
        task = server.loop.create_task(self._shake_hands(accepted, ip))
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)

    def _refuse(self, accepted: socket.socket, ip: str, too_many: str) -> None:
        self._server.meters.connections_refused += 1
        _LOG.warning("refused a connection from %s: too many %s", ip, too_many)
        accepted.close()

    async def _shake_hands(self, accepted: socket.socket, ip: str) -> None:
        server = self._server
        connection = Connection(server, self._name, self._new_session, admitted_ip=ip)
        try:
            await server.loop.connect_accepted_socket(
                lambda: connection,
                accepted,
                ssl=self._certificates.context,
                ssl_handshake_timeout=server.limits.login_timeout_ms / 1000,
                ssl_shutdown_timeout=_SHUTDOWN_S,
            )
        except OSError as error:
            self._failed(ip, error)
        except Exception:
            _LOG.exception("the handshake with %s failed by a defect", ip)
        else:
            server.meters.tls_handshakes += 1
        finally:
            server.newcomers.leave(ip)
            if not connection.has_begun:  # else it counts itself out when it is lost
                server.counts.leave(ip)

    def _failed(self, ip: str, error: OSError) -> None:
        meters = self._server.meters
        meters.tls_handshakes_failed += 1
        failed = meters.tls_handshakes_failed
        if failed <= _FAILURES_TOLD or failed & (failed - 1) == 0:  # a crowd must not fill the log
            _LOG.info("no TLS with %s on listener %s: %s", ip, self._name, _reason(error))


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not believed ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).replace("_", " ").lower()
    if isinstance(error, ConnectionAbortedError):
        return "it did not finish the handshake in time"
    return "it left"
