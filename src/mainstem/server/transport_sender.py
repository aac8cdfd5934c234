"""Sends parts through the transport: for TLS, where the kernel cannot encrypt a file on its way out.

Large file slices are read piece by piece, by a thread where they are not in the page cache, and a piece
is read only when the transport has taken the one before.
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
        return not self._queue and self._transport.get_write_buffer_size() == 0

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
                head = self._queue[0]
                if isinstance(head, Buffer):
                    self._queue.popleft()
                    self.pending_bytes -= len(head)
                    self._write(bytes(head))
                else:
                    self._send_slice(head)
        except OSError as error:
            self._on_failed(error)

    def _send_slice(self, part: FileSlice) -> None:
        try:
            part.file.fileno()
        except OSError:  # a simulated file
            self._finish_piece(part, part, read_waiting(part))
            return
        piece = _Piece(part.file, part.position, min(part.length, _PIECE_BYTES))
        data = read_if_cached(piece)
        if data is not None:
            self._finish_piece(part, piece, data)
            return
        self._meters.cold_reads += 1
        self._reading = self._loop.run_in_executor(None, read_waiting, piece)
        self._reading.add_done_callback(partial(self._on_read, part, piece))

    def _finish_piece(self, part: FileSlice, piece: FileSlice, data: bytes) -> None:
        if piece.length == part.length:
            self._queue.popleft()
            self.pending_bytes -= _SLICE_WEIGHT_BYTES
        else:
            rest = part.length - piece.length
            self._queue[0] = _Piece(part.file, part.position + piece.length, rest)
        self._write(data)

    def _write(self, data: bytes) -> None:
        self._meters.bytes_out += len(data)
        self._transport.write(data)

    def _on_read(self, part: FileSlice, piece: _Piece, reading: asyncio.Future[bytes]) -> None:
        self._reading = None
        if reading.cancelled() or self._closed:
            return
        error = reading.exception()
        if error is not None:
            self._on_failed(error if isinstance(error, OSError) else OSError(str(error)))
            return
        self._finish_piece(part, piece, reading.result())
        self._pump()
        self._on_drained()
