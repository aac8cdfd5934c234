"""What the server and a head promise each other; the same for every protocol.

A head makes one session per connection. The session is a state machine without I/O: it offers the buffer
to receive into, is told how many bytes came, and gives answers to its channel. The channel belongs to the
server: it keeps answers in order, sends them, and says when the peer reads too slowly.

An answer is a sequence of parts. A part is bytes-like, or a slice of a file, which leaves by sendfile and
is never read into Python when it is large.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from mainstem.model.batch import Buffer


class SlicedFile(Protocol):
    def fileno(self) -> int: ...


class FileSlice(Protocol):
    """A range of a file. Whoever holds the slice keeps the file open."""

    @property
    def file(self) -> SlicedFile: ...

    @property
    def position(self) -> int: ...

    @property
    def length(self) -> int: ...

    def read(self) -> bytes: ...


Part = Buffer | FileSlice


class PendingAnswer(Protocol):
    """The place of one answer in the order of answers; `parts` is None until it is known."""

    parts: Sequence[Part] | None


class ReceiveBuffers(Protocol):
    """Memory for incoming bytes: one buffer that all connections share, and larger ones on loan."""

    shared: memoryview  # whatever arrives while no frame is partial; valid until `received` returns
    is_exhausted: bool  # no new request should be read until `when_room` calls back

    @property
    def is_overdrawn(self) -> bool:
        """Partial requests hold all that they may: none may grow any more."""
        ...

    def charge(self, count: int) -> None:
        """Counts `count` bytes of whole requests as held; a negative count gives them back."""
        ...

    def charge_partial(self, count: int) -> None:
        """The same for what has come of requests that are not whole yet."""
        ...

    def take(self, size: int) -> bytearray:
        """A buffer of at least `size` bytes; who fills it charges what it fills."""
        ...

    def give(self, buffer: bytearray) -> None:
        """Takes a buffer back; nobody may look at it any more."""
        ...

    def when_room(self, callback: Callable[[], None]) -> None: ...


class Channel(Protocol):
    """A session's way out."""

    peer_host: str
    peer_certificate: bytes | None  # DER, verified; of a peer that showed one in TLS
    listener: str
    buffers: ReceiveBuffers
    is_congested: bool  # the peer does not read: take no further request from it

    def reserve(self, answer: PendingAnswer) -> None:
        """Gives the answer its place behind all reserved before."""
        ...

    def answered(self) -> None:
        """Some reserved answer got its parts. Empty parts mean that nothing is to be sent."""
        ...

    def flush(self) -> None:
        """Sends what is ready now, in the middle of a read, instead of at its end."""
        ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def close(self, reason: str | None = None) -> None:
        """Closes when what is ready has left; a reason is logged as a warning."""
        ...


class Session(Protocol):
    """One connection, as its head sees it."""

    def get_buffer(self) -> memoryview: ...

    def received(self, count: int) -> None:
        """`count` bytes were put at the start of the buffer that `get_buffer` gave last."""
        ...

    def uncongested(self) -> None:
        """The peer reads again."""
        ...

    def drain(self) -> None:
        """The server stops: take no further request, and close the channel once all are answered."""
        ...

    def closed(self) -> None:
        """The connection is gone: cancel what runs for it and give back what it holds."""
        ...

    @property
    def is_busy(self) -> bool:
        """Whether a request waits for its answer."""
        ...
