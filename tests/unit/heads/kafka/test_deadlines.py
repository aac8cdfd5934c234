"""Changes that outlive the wait for them."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref

import pytest

from mainstem.core.errors import InvalidRequest, RequestTimedOut
from mainstem.heads.kafka.deadlines import MOST_LEFT, BegunChanges

PATIENT_MS = 60_000


async def test_a_change_is_answered_with_what_it_leads_to() -> None:
    changes = BegunChanges()

    async def change() -> str:
        await asyncio.sleep(0)
        return "done"

    assert await changes.within(PATIENT_MS, change()) == "done"
    assert len(changes) == 0


async def test_a_change_that_fails_in_time_tells_its_client() -> None:
    async def change() -> None:
        raise InvalidRequest("no")

    with pytest.raises(InvalidRequest):
        await BegunChanges().within(PATIENT_MS, change())


@pytest.mark.parametrize("timeout_ms", [0, -1])
async def test_a_change_without_time_goes_on(timeout_ms: int) -> None:
    changes, may_end, ended = BegunChanges(), asyncio.Event(), asyncio.Event()

    async def change() -> None:
        await may_end.wait()
        ended.set()

    with pytest.raises(RequestTimedOut):
        await changes.within(timeout_ms, change())
    assert len(changes) == 1
    may_end.set()
    await ended.wait()
    await asyncio.sleep(0)  # its callbacks
    assert len(changes) == 0


async def test_a_change_is_not_collected_when_its_client_goes_away() -> None:
    """The change waits for something that only itself refers to: without an owner both are garbage."""
    changes = BegunChanges()
    begun = asyncio.Event()
    found: list[weakref.ref[asyncio.Future[None]]] = []

    async def change() -> None:
        awaited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        found.append(weakref.ref(awaited))
        begun.set()
        await awaited

    client = asyncio.ensure_future(changes.within(PATIENT_MS, change()))
    await begun.wait()
    client.cancel()
    await asyncio.gather(client, return_exceptions=True)
    del client
    await asyncio.sleep(0)  # the loop lets go of it too
    gc.collect()
    awaited = found[0]()
    assert awaited is not None
    awaited.set_result(None)
    while len(changes):  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0)


async def test_a_change_that_fails_behind_its_client_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    changes, may_fail = BegunChanges(), asyncio.Event()

    async def change() -> None:
        await may_fail.wait()
        raise InvalidRequest("too late to tell")

    with pytest.raises(RequestTimedOut):
        await changes.within(0, change())
    with caplog.at_level(logging.WARNING):
        may_fail.set()
        while len(changes):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
        await asyncio.sleep(0)  # the callback behind
    assert "too late to tell" in caplog.text


async def test_what_nobody_waits_for_is_bounded() -> None:
    changes, may_end = BegunChanges(), asyncio.Event()
    begun = 0

    async def change() -> None:
        nonlocal begun
        begun += 1
        await may_end.wait()

    for _ in range(MOST_LEFT):
        with pytest.raises(RequestTimedOut, match="goes on"):
            await changes.within(0, change())
    with pytest.raises(RequestTimedOut, match="not begun"):
        await changes.within(PATIENT_MS, change())
    await asyncio.sleep(0)
    assert begun == MOST_LEFT
    may_end.set()
    while len(changes):  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0)
    await changes.within(PATIENT_MS, change())
    assert begun == MOST_LEFT + 1
