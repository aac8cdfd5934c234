"""A coroutine that took its first step by hand and the rest in a task."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from mainstem.heads.kafka.stepped import SteppedCoroutine


def step(coroutine: Coroutine[Any, Any, str]) -> SteppedCoroutine[str]:
    return SteppedCoroutine(coroutine, coroutine.send(None))


async def test_goes_on_where_it_stands() -> None:
    first: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    second: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def work() -> str:
        return await first + await second

    task = asyncio.ensure_future(step(work()))
    await asyncio.sleep(0)
    first.set_result("a")
    await asyncio.sleep(0)
    second.set_result("b")
    assert await task == "ab"


async def test_what_it_waits_for_may_be_done_before_the_task_begins() -> None:
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def work() -> str:
        return await future

    rest = step(work())
    future.set_result("early")
    assert await asyncio.ensure_future(rest) == "early"


async def test_a_bare_turn_of_the_loop_is_waited_for() -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return "later"

    assert await asyncio.ensure_future(step(work())) == "later"


async def test_an_error_comes_out() -> None:
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def work() -> str:
        return await future

    rest = step(work())
    future.set_exception(KeyError("lost"))
    with pytest.raises(KeyError):
        await asyncio.ensure_future(rest)


@pytest.mark.parametrize("turns", [0, 1, 2])
async def test_cancelling_reaches_the_coroutine_and_what_it_waits_for(turns: int) -> None:
    """Before the task's first step, too."""
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    has_cleaned_up = False

    async def work() -> str:
        nonlocal has_cleaned_up
        try:
            return await future
        finally:
            has_cleaned_up = True

    task = asyncio.ensure_future(step(work()))
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert has_cleaned_up
    assert future.cancelled()


async def test_a_time_out_works_behind_the_first_await() -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        async with asyncio.timeout(0.01):
            await asyncio.sleep(10)
        return "never"

    with pytest.raises(TimeoutError):
        await asyncio.ensure_future(step(work()))
