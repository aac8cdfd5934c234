"""The node that the tests of the admin interface ask."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.kafka_node import KafkaNode
from tests.unit.admin.site import Site, admin_node, site_of


@pytest.fixture
async def kafka(tmp_path: Path) -> AsyncIterator[KafkaNode]:
    node = await KafkaNode(tmp_path).start()
    yield node
    await node.stop()


@pytest.fixture
def site(kafka: KafkaNode) -> Site:
    return site_of(admin_node(kafka))
