"""What the tests with Java programs share."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest
from tests.support.kafka_tools import KafkaTools


@pytest.fixture(scope="session")
def kafka_tools() -> Iterator[KafkaTools]:
    with KafkaTools() as tools:
        yield tools


@pytest.fixture
def fresh() -> Callable[[str], str]:
    """Makes a name that no other test and no other run uses."""
    mark = uuid.uuid4().hex[:8]
    return lambda what: f"{what}-{mark}"
