"""The node that the tests of the APIs ask."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.kafka_node import KafkaNode, Peer


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[KafkaNode]:
    node = await KafkaNode(tmp_path).start()
    yield node
    await node.stop()


@pytest.fixture
def peer(node: KafkaNode) -> Peer:
    return node.peer()
