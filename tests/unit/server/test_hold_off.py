"""Connections that come too soon are held, and no more of them than the server can bear."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mainstem.server import listener
from mainstem.server.limits import ServerLimits
from mainstem.server.listener import Server


class FakeTransport:
    is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True


def transports(count: int) -> list[Any]:
    return [FakeTransport() for _ in range(count)]


async def test_a_connection_is_held_for_its_time_and_then_closed() -> None:
    server = Server(asyncio.get_running_loop(), ServerLimits())
    (held,) = transports(1)
    server.hold_off(held, 1)
    assert not held.is_aborted
    async with asyncio.timeout(20):
        while not held.is_aborted:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.001)
    await server.stop(1)


async def test_those_above_the_bound_are_closed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "MOST_HELD_OFF", 2)
    server = Server(asyncio.get_running_loop(), ServerLimits())
    held = transports(3)
    for transport in held:
        server.hold_off(transport, 60_000)
    assert [each.is_aborted for each in held] == [False, False, True]
    await server.stop(1)
    assert all(each.is_aborted for each in held)
