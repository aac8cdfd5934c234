"""Sends parts over a plain socket, past the transport: bytes by writev, large file slices by sendfile.

The transport only receives. Nothing is ever in its write buffer, so writing to its descriptor keeps the
order; what does not fit into the socket waits here, and the loop watches a duplicate of the descriptor,
because uvloop does not let anyone watch the one that a transport owns.

    idle      the queue is empty: `send` writes at once
    blocked   the socket is full: the loop calls `_pump` when it takes more
    reading   the head of the queue is not in the page cache: a thread reads, then `_pump` goes on

Small slices are read and leave with the bytes around them in one call, which is cheaper than a sendfile
between two writes. Bytes in front of a large slice are sent with MSG_MORE, so that the kernel fills its
packets across the border. One connection sends at most `_TURN_BYTES` before others get their turn.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Final

from mainstem.heads.session import FileSlice, Part
from mainstem.model.batch import Buffer
from mainstem.server.metrics import ServerMeters
from mainstem.server.page_cache import ShortFile, is_cached, read_if_cached, read_waiting, warm

SMALL_SLICE_BYTES: Final = 32 * 1024
_RUN_PARTS: Final = 256  # of one writev
_RUN_BYTES: Final = 256 * 1024  # stop gathering above this
_CHUNK_BYTES: Final = 1 << 20  # of one sendfile
_TURN_BYTES: Final = 4 << 20
_SLICE_WEIGHT_BYTES: Final = 256  # what a waiting slice costs in memory, about


class SocketSender:
    __slots__ = (
        "_blocked",
        "_closed",
        "_duplicate",
        "_fd",
        "_loop",
        "_meters",
        "_offset",
        "_on_drained",
        "_on_failed",
        "_queue",
        "_reading",
        "_warm_until",
        "pending_bytes",
    )

    def __init__(
        self,
        fd: int,
        loop: asyncio.AbstractEventLoop,
        meters: ServerMeters,
        on_drained: Callable[[], None],
        on_failed: Callable[[OSError], None],
    ) -> None:
        self._fd = fd
        self._loop = loop
        self._meters = meters
        self._on_drained = on_drained  # called when the queue got shorter
        self._on_failed = on_failed
        self._queue: deque[Part] = deque()
        self._duplicate: socket.socket | None = None
        self._blocked = False
        self._reading: asyncio.Future[bytes | None] | None = None
        self._closed = False
        self._offset = 0  # what already left of the slice at the head of the queue
        self._warm_until = 0  # offset in that slice below which a thread has read it
        self.pending_bytes = 0  # memory that the queue holds

    @property
    def is_idle(self) -> bool:
        return not self._queue

    def send(self, parts: Sequence[Part]) -> None:
        if self._closed:
            return
        queue = self._queue
        if not queue and len(parts) == 1 and type(part := parts[0]) is bytes:
            size = len(part)
            try:
                sent = os.write(self._fd, part)
            except BlockingIOError:
                sent = 0
            except OSError as error:
                self._on_failed(error)
                return
            self._meters.bytes_out += sent
            if sent == size:
                return
            queue.append(memoryview(part)[sent:])
            self.pending_bytes += size - sent
            self._wait_writable()
            return
        is_waiting = bool(queue)
        for part in parts:
            queue.append(part)
            self.pending_bytes += len(part) if isinstance(part, Buffer) else _SLICE_WEIGHT_BYTES
        if not is_waiting:
            self._pump()

    def close(self) -> None:
        """Forgets what was not sent. The descriptor itself belongs to the transport."""
        if self._closed:
            return
        self._closed = True
        self._queue.clear()
        self.pending_bytes = 0
        if self._duplicate is not None:
            if self._blocked:
                self._loop.remove_writer(self._duplicate.fileno())
            self._duplicate.close()
            self._duplicate = None

    # --- sending

    def _pump(self) -> None:
        """Sends until the queue is empty, the socket is full, or a thread must read."""
        if self._closed or self._reading is not None:
            return
        budget = _TURN_BYTES
        try:
            while self._queue:
                if budget <= 0:
                    self._loop.call_soon(self._pump)
                    return
                head = self._queue[0]
                if not isinstance(head, Buffer) and head.length > SMALL_SLICE_BYTES:
                    sent = self._send_slice(head)
                else:
                    sent = self._send_run()
                if sent < 0:
                    return
                budget -= sent
        except BlockingIOError:
            self._wait_writable()
            return
        except OSError as error:
            self._on_failed(error)
            return
        if self._blocked and self._duplicate is not None:
            self._blocked = False
            self._loop.remove_writer(self._duplicate.fileno())

    def _send_run(self) -> int:
        """Bytes and small slices at the head of the queue, in one call; -1 when a thread must read first."""
        run: list[Buffer] = []
        size = 0
        more = False
        for part in islice(self._queue, _RUN_PARTS):
            if not isinstance(part, Buffer):
                if part.length > SMALL_SLICE_BYTES:
                    more = True
                    break
                data = read_if_cached(part)
                if data is None:
                    if run:
                        break
                    self._read_in_thread(part)
                    return -1
                part = data
            run.append(part)
            size += len(part)
            if size > _RUN_BYTES:
                break
        if more:
            sent = self._socket().sendmsg(run, (), socket.MSG_MORE)
        elif len(run) == 1:
            sent = os.write(self._fd, run[0])
        else:
            sent = os.writev(self._fd, run)
        self._meters.bytes_out += sent
        self._drop_sent(run, sent)
        return sent

    def _drop_sent(self, run: list[Buffer], sent: int) -> None:
        queue = self._queue
        for part in run:
            size = len(part)
            weight = size if isinstance(queue[0], Buffer) else _SLICE_WEIGHT_BYTES
            if sent < size:
                if sent or not isinstance(queue[0], Buffer):
                    queue[0] = memoryview(part)[sent:]
                    self.pending_bytes += size - sent - weight
                return
            sent -= size
            queue.popleft()
            self.pending_bytes -= weight
        self._on_drained()

    def _send_slice(self, part: FileSlice) -> int:
        """A piece of the large slice at the head of the queue; -1 when a thread must read first."""
        try:
            source = part.file.fileno()
        except OSError:
            self._queue[0] = read_waiting(part)  # no descriptor: a simulated file, in memory
            self.pending_bytes += part.length - _SLICE_WEIGHT_BYTES
            return 0
        position = part.position + self._offset
        count = min(part.length - self._offset, _CHUNK_BYTES)
        if self._offset >= self._warm_until and not is_cached(source, position, count):
            self._warm_in_thread(part, source, position, count)
            return -1
        sent = os.sendfile(self._fd, source, position, count)
        if sent == 0:
            raise ShortFile(f"{self._offset} of {part.length} bytes at {part.position}")
        self._meters.bytes_out += sent
        self._meters.sendfile_bytes += sent
        self._offset += sent
        if self._offset == part.length:
            self._queue.popleft()
            self._offset = self._warm_until = 0
            self.pending_bytes -= _SLICE_WEIGHT_BYTES
            self._on_drained()
        return sent

    # --- waiting

    def _socket(self) -> socket.socket:
        """A socket object on a duplicate of the descriptor, made when first needed."""
        if self._duplicate is None:
            fd = os.dup(self._fd)
            self._duplicate = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=fd)
            self._duplicate.setblocking(False)
        return self._duplicate

    def _wait_writable(self) -> None:
        if not self._blocked:
            self._loop.add_writer(self._socket().fileno(), self._pump)
            self._blocked = True

    def _warm_in_thread(self, part: FileSlice, source: int, position: int, count: int) -> None:
        self._warm_until = self._offset + count
        self._start_thread(partial(warm, source, position, count), part)

    def _read_in_thread(self, part: FileSlice) -> None:
        self._start_thread(partial(read_waiting, part), part)

    def _start_thread(self, work: Callable[[], bytes | None], part: FileSlice) -> None:
        if self._blocked and self._duplicate is not None:
            self._blocked = False
            self._loop.remove_writer(self._duplicate.fileno())
        self._meters.cold_reads += 1
        reading = self._loop.run_in_executor(None, work)
        self._reading = reading
        reading.add_done_callback(partial(self._on_read, part))  # the slice keeps its file open till then

    def _on_read(self, part: FileSlice, reading: asyncio.Future[bytes | None]) -> None:
        self._reading = None
        if reading.cancelled() or self._closed:
            return
        error = reading.exception()
        if error is not None:
            self._on_failed(error if isinstance(error, OSError) else OSError(str(error)))
            return
        data = reading.result()
        if data is not None:
            self._queue[0] = data
            self.pending_bytes += part.length - _SLICE_WEIGHT_BYTES
        self._pump()
        self._on_drained()
