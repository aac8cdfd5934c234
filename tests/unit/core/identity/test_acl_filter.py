"""Which rules a filter takes, as Kafka's own filters do."""

from __future__ import annotations

import pytest

from mainstem.core.identity.acl import (
    AccessRule,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from mainstem.core.identity.acl_filter import AclFilter

LITERAL, PREFIXED, ANY, MATCH = (
    PatternType.LITERAL,
    PatternType.PREFIXED,
    PatternType.ANY,
    PatternType.MATCH,
)
TOPIC = ResourceType.TOPIC
RULE = AccessRule("User:alice", "*", Operation.READ, Permission.ALLOW)
PATTERNS = {
    "orders": ResourcePattern(TOPIC, "orders"),
    "ord*": ResourcePattern(TOPIC, "ord", PREFIXED),
    "all": ResourcePattern(TOPIC, "*"),
    "group": ResourcePattern(ResourceType.GROUP, "orders"),
}


def taken(asked: AclFilter) -> set[str]:
    rules = dict.fromkeys(PATTERNS.values(), (RULE,))
    found = {binding.pattern for binding in asked.bindings(rules)}
    assert found == {pattern for pattern in rules if asked.takes(pattern, RULE)}
    return {title for title, pattern in PATTERNS.items() if pattern in found}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (AclFilter(), {"orders", "ord*", "all", "group"}),
        (AclFilter(TOPIC), {"orders", "ord*", "all"}),
        (AclFilter(TOPIC, "orders", LITERAL), {"orders"}),
        (AclFilter(TOPIC, "orders", PREFIXED), set()),
        (AclFilter(TOPIC, "ord", PREFIXED), {"ord*"}),
        (AclFilter(TOPIC, None, PREFIXED), {"ord*"}),
        (AclFilter(TOPIC, "orders", ANY), {"orders"}),
        (AclFilter(TOPIC, "*", ANY), {"all"}),
        (AclFilter(TOPIC, "orders", MATCH), {"orders", "ord*", "all"}),
        (AclFilter(TOPIC, "order", MATCH), {"ord*", "all"}),
        (AclFilter(TOPIC, "other", MATCH), {"all"}),
        (AclFilter(ResourceType.ANY, "orders", MATCH), {"orders", "ord*", "all", "group"}),
        (AclFilter(TOPIC, None, MATCH), {"orders", "ord*", "all"}),
    ],
)
def test_patterns(asked: AclFilter, expected: set[str]) -> None:
    assert taken(asked) == expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (AclFilter(principal="User:alice"), True),
        (AclFilter(principal="User:bob"), False),
        (AclFilter(principal="User:*"), False),
        (AclFilter(host="*"), True),
        (AclFilter(host="192.0.2.1"), False),
        (AclFilter(operation=Operation.READ), True),
        (AclFilter(operation=Operation.ALL), False),
        (AclFilter(permission=Permission.ALLOW), True),
        (AclFilter(permission=Permission.DENY), False),
    ],
)
def test_rules(asked: AclFilter, expected: bool) -> None:
    assert asked.takes_rule(RULE) is expected


@pytest.mark.parametrize(
    "asked",
    [
        AclFilter(type=ResourceType.UNKNOWN),
        AclFilter(pattern_type=PatternType.UNKNOWN),
        AclFilter(operation=Operation.UNKNOWN),
        AclFilter(permission=Permission.UNKNOWN),
    ],
)
def test_what_is_unknown(asked: AclFilter) -> None:
    assert asked.has_unknown
    assert not AclFilter().has_unknown
