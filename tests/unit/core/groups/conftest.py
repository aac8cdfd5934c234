from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.support.group_world import World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Whoever still waits, or a timer that is left, when a test is over is an error of that test."""
    made = await World().start()
    yield made
    await made.close()
