"""What leaves through TLS: in order, whole, and in few writes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pytest
from tests.support.deadline import eventually_async

from mainstem.server import transport_sender
from mainstem.server.metrics import ServerMeters
from mainstem.server.transport_sender import TransportSender

PIECE_BYTES = 128 * 1024


class Slice(NamedTuple):
    file: BinaryIO
    position: int
    length: int

    def read(self) -> bytes:
        return os.pread(self.file.fileno(), self.length, self.position)


class SlowTransport:
    """Takes writes, and says when it has enough."""

    def __init__(self, pauses_after: int = 1 << 30) -> None:
        self.writes: list[bytes] = []
        self.pauses_after = pauses_after
        self.sender: TransportSender | None = None

    def set_write_buffer_limits(self, high: int, low: int) -> None: ...

    def write(self, data: bytes) -> None:
        self.writes.append(data)
        if len(self.writes) % self.pauses_after == 0:
            assert self.sender is not None
            self.sender.pause()

    @property
    def sent(self) -> bytes:
        return b"".join(self.writes)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[BinaryIO]:
    path = tmp_path / "segment"
    path.write_bytes(os.urandom(1 << 20))
    with path.open("rb") as opened:
        yield opened


def sender_over(transport: Any, failures: list[OSError] | None = None) -> TransportSender:
    failed = failures if failures is not None else []
    sender = TransportSender(
        transport, asyncio.get_running_loop(), ServerMeters(), lambda: None, failed.append
    )
    transport.sender = sender
    return sender


async def test_small_parts_leave_together(file: BinaryIO) -> None:
    transport = SlowTransport()
    sender = sender_over(transport)
    sender.send([b"a" * 10, memoryview(b"b" * 20), Slice(file, 100, 1000), b"c"])
    assert len(transport.writes) == 1
    assert transport.sent == b"a" * 10 + b"b" * 20 + Slice(file, 100, 1000).read() + b"c"
    assert sender.is_idle
    assert sender.pending_bytes == 0


async def test_a_large_slice_leaves_in_pieces_of_a_size(file: BinaryIO) -> None:
    transport = SlowTransport()
    sender = sender_over(transport)
    whole = Slice(file, 7, (1 << 20) - 7)
    sender.send([b"head", whole, b"tail"])
    await eventually_async(lambda: sender.is_idle, "all of it is sent")
    assert transport.sent == b"head" + whole.read() + b"tail"
    assert len(transport.writes) <= 10
    assert max(map(len, transport.writes)) <= 2 * PIECE_BYTES


async def test_a_transport_that_has_enough_is_left_alone(file: BinaryIO) -> None:
    transport = SlowTransport(pauses_after=1)
    sender = sender_over(transport)
    whole = Slice(file, 0, 1 << 20)
    sender.send([whole])
    sender.send([b"later"])
    assert len(transport.writes) == 1
    assert not sender.is_idle
    while not sender.is_idle:
        sender.resume()
        await asyncio.sleep(0)
    assert transport.sent == whole.read() + b"later"


async def test_what_is_not_in_memory_is_read_by_a_thread_and_keeps_its_place(
    file: BinaryIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport_sender, "read_if_cached", lambda piece: None)  # noqa: ARG005
    transport = SlowTransport()
    sender = sender_over(transport)
    slices = [Slice(file, 0, 300_000), Slice(file, 500_000, 10)]
    sender.send([b"before", slices[0], b"between", slices[1], b"after"])
    assert transport.sent == b"before"
    assert not sender.is_idle
    await eventually_async(lambda: sender.is_idle, "all of it is sent")
    assert transport.sent == b"before" + slices[0].read() + b"between" + slices[1].read() + b"after"


async def test_a_file_that_is_too_short_is_a_failure(file: BinaryIO) -> None:
    failures: list[OSError] = []
    sender = sender_over(SlowTransport(), failures)
    sender.send([Slice(file, (1 << 20) - 10, 100)])
    await eventually_async(lambda: bool(failures), "it is told")


async def test_after_the_end_nothing_leaves(file: BinaryIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_sender, "read_if_cached", lambda piece: None)  # noqa: ARG005
    transport = SlowTransport()
    sender = sender_over(transport)
    sender.send([Slice(file, 0, 1000)])
    sender.close()
    await asyncio.sleep(0.05)
    assert transport.writes == []
