"""Figures of partitions, groups and access rules, as a scrape of a real node reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

import pytest
from tests.support.kafka_node import KafkaNode
from tests.unit.admin.site import admin_node
from tests.unit.admin.test_resources import commit

from mainstem.admin.metrics import access, groups, partitions
from mainstem.admin.metrics.exposition import Family, write_family
from mainstem.admin.node import Node
from mainstem.core.identity.acl import (
    AccessRule,
    AclBinding,
    Operation,
    Permission,
    ResourcePattern,
    ResourceType,
)
from mainstem.core.identity.principal import ANONYMOUS


def scraped(families: Callable[[Node], Iterable[Family]], node: Node) -> dict[str, float]:
    found: dict[str, float] = {}
    for family in families(node):
        for line in "".join(write_family(family)).splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                assert name not in found, f"{name} is there twice"
                found[name.removeprefix("mainstem_")] = float(value)
    return found


async def test_partitions(kafka: KafkaNode) -> None:
    await kafka.create_topic("orders", 2)
    kafka.fill("orders", 4, 1)
    found = scraped(partitions.families, admin_node(kafka))
    assert found['high_watermark{topic="orders",partition="1"}'] == 4
    assert found['messages_in_total{topic="orders",partition="0"}'] == 0
    assert found['log_segments{topic="orders",partition="0"}'] == 1
    assert found["partitions_led"] == found["partitions"] == 2 + 3
    assert found["partitions_offline"] == found["partitions_under_replicated"] == 0


async def test_groups(kafka: KafkaNode, monkeypatch: pytest.MonkeyPatch) -> None:
    await kafka.create_topic("orders")
    kafka.fill("orders", 4)
    for group_id, offset in (("a", 1), ('b"', 4)):
        await commit(kafka.peer(), group_id, offset)
    node = admin_node(kafka)
    found = scraped(groups.families, node)
    assert found['groups{state="Empty"}'] == 2
    assert found['group_lag{group="a",topic="orders",partition="0"}'] == 3
    assert found[r'group_lag{group="b\"",topic="orders",partition="0"}'] == 0
    assert found["group_series_left_out"] == 0
    monkeypatch.setattr(groups, "MAX_LAGS", 1)
    found = scraped(groups.families, node)
    assert found["group_series_left_out"] == 1
    assert sum(name.startswith("group_lag") for name in found) == 1


async def test_access_rules_have_figures_where_they_are_kept_to(tmp_path: Path, kafka: KafkaNode) -> None:
    assert scraped(access.families, admin_node(kafka)) == {}
    guarded = await KafkaNode(tmp_path / "guarded", {"authorizer.class.name": "standard"}).start()
    rule = AccessRule(str(ANONYMOUS), "*", Operation.READ, Permission.ALLOW)
    await guarded.broker.acls.create_acls([AclBinding(ResourcePattern(ResourceType.TOPIC, "t"), rule)])
    assert guarded.authorizer is not None
    for operation in (Operation.READ, Operation.WRITE, Operation.WRITE):
        guarded.authorizer.allows(ANONYMOUS, "h", operation, ResourceType.TOPIC, "t")
    found = scraped(access.families, cast(Node, admin_node(guarded)))
    await guarded.stop()
    assert found == {
        "operations_allowed_total": 1,
        "operations_denied_total": 2,
        "access_rules": 1,
        "access_decisions_remembered": 2,
    }
