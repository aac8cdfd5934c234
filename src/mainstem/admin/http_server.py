"""Serves the admin interface over HTTP, on the broker's own loop and within bounds of its own.

On the loop rather than in a thread: a thread that writes a large page holds the interpreter for
milliseconds at a time, and every system call of the loop would have to wait for it. Here the page is
written in slices of a millisecond between the turns of the broker.

Uvicorn drives the connections. What it leaves to others is done here: the signals of the process stay
with the broker, connections are counted, and one that does not bring a whole request in time is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Generator, Sequence
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS: Final = 256
REQUEST_HEAD_TIMEOUT_S: Final = 20.0
KEEP_ALIVE_S: Final = 15
_MAX_HEAD_BYTES: Final = 32 * 1024
_BACKLOG: Final = 128
_STOP_TIMEOUT_S: Final = 2


class _BoundedProtocol(H11Protocol):
    """A connection that is refused when there are many, and closed when it dawdles."""

    _watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if len(self.connections) >= MAX_CONNECTIONS:
            self.transport = transport
            transport.abort()
            return
        super().connection_made(transport)
        self._watch = self.loop.call_later(REQUEST_HEAD_TIMEOUT_S, self._close_if_dawdling, None)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def _close_if_dawdling(self, last_cycle: Any) -> None:
        """Closes unless a request came since the last look, or is being answered."""
        cycle = self.cycle
        if cycle is last_cycle and (cycle is None or cycle.response_complete):
            self.transport.abort()
            return
        self._watch = self.loop.call_later(REQUEST_HEAD_TIMEOUT_S, self._close_if_dawdling, cycle)


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield  # they belong to the broker


class AdminServer:
    def __init__(self, application: ASGIApp) -> None:
        self._server = _Server(
            uvicorn.Config(
                application,
                http=_BoundedProtocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                backlog=_BACKLOG,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=_STOP_TIMEOUT_S,
                h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
            )
        )
        self._task: asyncio.Task[None] | None = None

    def start(self, sockets: Sequence[socket.socket]) -> None:
        """Serves from now on. The sockets are bound, and are closed by `stop`."""
        self._task = asyncio.get_running_loop().create_task(
            self._server.serve(list(sockets)), name="admin server"
        )

    async def stop(self) -> None:
        self._server.should_exit = True
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
