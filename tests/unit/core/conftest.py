"""What a callback of the loop raises is an error of its test, not a line in a log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest


@pytest.fixture(autouse=True)
async def no_errors_in_callbacks() -> AsyncIterator[None]:
    seen: list[dict[str, object]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: seen.append(context))
    yield
    assert not seen
