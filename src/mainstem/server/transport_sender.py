"""Sends parts through the transport: for TLS, where the kernel cannot encrypt a file on its way out.

Every write becomes records of TLS and a system call, so what is small is gathered first: the bytes of
answers, and file slices, which are read piece by piece, by a thread where they are not in the page cache. A
piece is read only when the transport has taken what came before.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

from mainstem.heads.session import FileSlice, Part, SlicedFile
from mainstem.model.batch import Buffer
from mainstem.server.metrics import ServerMeters
from mainstem.server.page_cache import read_if_cached, read_waiting

_PIECE_BYTES: Final = 128 * 1024
_SLICE_WEIGHT_BYTES: Final = 256  # what a waiting slice costs in memory, about


class _Piece(NamedTuple):
    file: SlicedFile
    position: int
    length: int

    def read(self) -> bytes:
        return os.pread(self.file.fileno(), self.length, self.position)


class TransportSender:
    __slots__ = (
        "_closed",
        "_is_paused",
        "_loop",
        "_meters",
        "_on_drained",
        "_on_failed",
        "_queue",
        "_reading",
        "_transport",
        "pending_bytes",
    )

    def __init__(
        self,
        transport: asyncio.WriteTransport,
        loop: asyncio.AbstractEventLoop,
        meters: ServerMeters,
        on_drained: Callable[[], None],
        on_failed: Callable[[OSError], None],
    ) -> None:
        transport.set_write_buffer_limits(high=_PIECE_BYTES, low=0)
        self._transport = transport
        self._loop = loop
        self._meters = meters
        self._on_drained = on_drained
        self._on_failed = on_failed
        self._queue: deque[Part] = deque()
        self._is_paused = False  # the transport has enough
        self._reading: asyncio.Future[bytes] | None = None
        self._closed = False
        self.pending_bytes = 0

    @property
    def is_idle(self) -> bool:
        return not self._queue and self._reading is None  # what the transport has, it sends before it closes

    def send(self, parts: Sequence[Part]) -> None:
        for part in parts:
            self._queue.append(part)
            self.pending_bytes += len(part) if isinstance(part, Buffer) else _SLICE_WEIGHT_BYTES
        self._pump()

    def close(self) -> None:
        self._closed = True
        self._queue.clear()
        self.pending_bytes = 0

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        self._pump()
        self._on_drained()

    def _pump(self) -> None:
        try:
            while self._queue and not (self._is_paused or self._closed or self._reading):
                self._write(self._gather())
        except OSError as error:
            self._on_failed(error)

    def _gather(self) -> list[bytes]:
        """What one write takes from the head of the queue; stops at what a thread must read."""
        gathered: list[bytes] = []
        size = 0
        while self._queue and size < _PIECE_BYTES:
            head = self._queue[0]
            if isinstance(head, Buffer):
                self._queue.popleft()
                self.pending_bytes -= len(head)
                data = bytes(head)
            else:
                found = self._read_piece(head, min(head.length, _PIECE_BYTES))
                if found is None:
                    break
                data = found
            gathered.append(data)
            size += len(data)
        return gathered

    def _read_piece(self, part: FileSlice, length: int) -> bytes | None:
        """The slice's next bytes; None where a thread fetches them."""
        try:
            part.file.fileno()
        except OSError:  # a simulated file
            data = read_waiting(part)
            self._advance(part, part.length)
            return data
        piece = _Piece(part.file, part.position, length)
        found = read_if_cached(piece)
        if found is not None:
            self._advance(part, length)
            return found
        self._meters.cold_reads += 1
        self._reading = self._loop.run_in_executor(None, read_waiting, piece)
        self._reading.add_done_callback(partial(self._on_read, part, length))
        return None

    def _advance(self, part: FileSlice, length: int) -> None:
        """The first bytes of the slice at the head of the queue are read."""
        if length == part.length:
            self._queue.popleft()
            self.pending_bytes -= _SLICE_WEIGHT_BYTES
        else:
            self._queue[0] = _Piece(part.file, part.position + length, part.length - length)

    def _write(self, gathered: list[bytes]) -> None:
        if gathered:
            data = gathered[0] if len(gathered) == 1 else b"".join(gathered)
            self._meters.bytes_out += len(data)
            self._transport.write(data)

    def _on_read(self, part: FileSlice, length: int, reading: asyncio.Future[bytes]) -> None:
        self._reading = None
        if reading.cancelled() or self._closed:
            return
        error = reading.exception()
        if error is not None:
            self._on_failed(error if isinstance(error, OSError) else OSError(str(error)))
            return
        self._advance(part, length)
        self._write([reading.result()])
        self._pump()
        self._on_drained()
