from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.support.transaction_world import TransactionWorld


@pytest.fixture
async def world() -> AsyncIterator[TransactionWorld]:
    """Whoever still waits, or a timer that is left, when a test is over is an error of that test."""
    made = await TransactionWorld().start()
    yield made
    await made.close()
