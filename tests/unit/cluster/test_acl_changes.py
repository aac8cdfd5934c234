"""Access rules in the metadata store: made, found again in the image, removed by filters."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.unit.cluster.node import Node

from mainstem.cluster import acl_changes, keys
from mainstem.cluster.acl_changes import AclController
from mainstem.cluster.entries import decode_rules, encode_rules
from mainstem.cluster.errors import EntryUnreadable
from mainstem.cluster.follower import MetadataFollower
from mainstem.cluster.metadata_writer import MetadataWriter
from mainstem.core.errors import InvalidRequest, NotController
from mainstem.core.identity.acl import (
    AccessRule,
    AclBinding,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from mainstem.core.identity.acl_filter import AclFilter
from mainstem.core.ports import AclDeletion

TOPIC = ResourceType.TOPIC
READ = AccessRule("User:alice", "*", Operation.READ, Permission.ALLOW)
WRITE = READ._replace(operation=Operation.WRITE)
ORDERS = ResourcePattern(TOPIC, "orders")
PREFIX = ResourcePattern(TOPIC, "a/b", PatternType.PREFIXED)


@pytest.fixture
async def node() -> AsyncIterator[Node]:
    node = await Node().start()
    yield node
    await node.stop()


@pytest.fixture
def acls(node: Node) -> AclController:
    return AclController(MetadataWriter(node.store, node.follower, node.membership), node.follower)


async def create(acls: AclController, *bindings: AclBinding) -> None:
    assert await acls.create_acls(bindings) == [None] * len(bindings)


async def test_a_rule_is_in_the_image_when_its_creation_returns(node: Node, acls: AclController) -> None:
    await create(acls, AclBinding(ORDERS, READ), AclBinding(ORDERS, WRITE), AclBinding(PREFIX, READ))
    assert node.image.acls == {ORDERS: (READ, WRITE), PREFIX: (READ,)}
    assert [delta.acls_changed for delta in node.deltas if delta.acls_changed] == [True]


async def test_a_rule_that_is_there_already_is_no_error_and_no_change(
    node: Node, acls: AclController
) -> None:
    await create(acls, AclBinding(ORDERS, READ))
    revision = node.image.revision
    await create(acls, AclBinding(ORDERS, READ), AclBinding(ORDERS, READ))
    assert node.image.revision == revision


async def test_another_node_reads_the_same_rules(node: Node, acls: AclController) -> None:
    await create(acls, AclBinding(ORDERS, READ), AclBinding(PREFIX, WRITE))
    other = MetadataFollower(node.store)
    await other.start()
    assert other.image.acls == node.image.acls
    await other.close()


async def test_filters_take_rules_away(node: Node, acls: AclController) -> None:
    bindings = [AclBinding(ORDERS, READ), AclBinding(ORDERS, WRITE), AclBinding(PREFIX, READ)]
    await create(acls, *bindings)
    of_reading = AclFilter(operation=Operation.READ)
    outcomes = await acls.delete_acls([of_reading, AclFilter(TOPIC, "none"), of_reading])
    taken = [AclDeletion(bindings[0]), AclDeletion(bindings[2])]
    assert outcomes == [taken, [], taken]
    assert node.image.acls == {ORDERS: (WRITE,)}
    await acls.delete_acls([AclFilter()])
    assert node.image.acls == {}


@pytest.mark.parametrize(
    ("pattern", "rule"),
    [
        (ORDERS._replace(type=ResourceType.ANY), READ),
        (ORDERS._replace(type=ResourceType.UNKNOWN), READ),
        (ORDERS._replace(name=""), READ),
        (ORDERS._replace(pattern_type=PatternType.MATCH), READ),
        (ORDERS._replace(pattern_type=PatternType.ANY), READ),
        (ResourcePattern(ResourceType.CLUSTER, "another"), READ),
        (ORDERS, READ._replace(operation=Operation.ANY)),
        (ORDERS, READ._replace(operation=Operation.UNKNOWN)),
        (ORDERS, READ._replace(permission=Permission.ANY)),
        (ORDERS, READ._replace(permission=Permission.UNKNOWN)),
        (ORDERS, READ._replace(principal="alice")),
        (ORDERS, READ._replace(host="")),
    ],
)
async def test_what_is_no_rule_is_refused_beside_others(
    node: Node, acls: AclController, pattern: ResourcePattern, rule: AccessRule
) -> None:
    good = AclBinding(PREFIX, READ)
    refused, made = await acls.create_acls([AclBinding(pattern, rule), good])
    assert isinstance(refused, InvalidRequest)
    assert made is None
    assert node.image.acls == {PREFIX: (READ,)}


async def test_a_filter_of_what_is_unknown_is_refused(acls: AclController) -> None:
    unknown, known = await acls.delete_acls([AclFilter(operation=Operation.UNKNOWN), AclFilter()])
    assert isinstance(unknown, InvalidRequest)
    assert known == []


async def test_the_rules_of_one_pattern_are_bounded(
    node: Node, acls: AclController, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acl_changes, "MAX_BYTES_PER_PATTERN", 200)
    await create(acls, AclBinding(ORDERS, READ))
    more = [AclBinding(ORDERS, READ._replace(principal=f"User:{number}")) for number in range(10)]
    outcomes = await acls.create_acls([*more, AclBinding(PREFIX, READ)])
    assert all(isinstance(outcome, InvalidRequest) for outcome in outcomes[:-1])
    assert outcomes[-1] is None
    assert node.image.acls == {ORDERS: (READ,), PREFIX: (READ,)}


async def test_a_request_is_bounded(acls: AclController, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acl_changes, "MAX_ITEMS_PER_REQUEST", 2)
    three = [AclBinding(ORDERS, READ)] * 3
    assert all(isinstance(each, InvalidRequest) for each in await acls.create_acls(three))
    assert all(isinstance(each, InvalidRequest) for each in await acls.delete_acls([AclFilter()] * 3))


async def test_only_the_controller_writes(node: Node, acls: AclController) -> None:
    await create(acls, AclBinding(ORDERS, READ))
    await node.membership.leave()
    (refused,) = await acls.create_acls([AclBinding(ORDERS, WRITE)])
    assert isinstance(refused, NotController)
    ((kept,),) = await acls.delete_acls([AclFilter()])  # type: ignore[misc]
    assert isinstance(kept.error, NotController)


def test_keys_name_their_patterns() -> None:
    for pattern in (
        ORDERS,
        PREFIX,
        ResourcePattern(ResourceType.TRANSACTIONAL_ID, "/", PatternType.PREFIXED),
    ):
        assert keys.pattern_of_acl_key(keys.acl_key(pattern)) == pattern
    for key in ("topic/literal/", "topic/other/x", "colour/literal/x", "topic"):
        with pytest.raises(ValueError, match=r"does not know|no name"):
            keys.pattern_of_acl_key(keys.ACLS + key)


def test_entries_keep_rules() -> None:
    rules = (READ, AccessRule("User:ö;=,", "::1", Operation.ALL, Permission.DENY))
    assert decode_rules("k", encode_rules(rules)) == rules
    for damaged in (
        b"{}",
        b'{"v":1,"rules":[]}',
        b'{"v":1,"rules":[["User:a","*","fly","allow"]]}',
        b'{"v":1,"rules":[["User:a","*","read","perhaps"]]}',
        b'{"v":99,"rules":[["User:a","*","read","allow"]]}',
    ):
        with pytest.raises(EntryUnreadable):
            decode_rules("k", damaged)
