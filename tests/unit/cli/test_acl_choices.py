"""What the options of `mainstem acl` mean."""

from __future__ import annotations

import click
import pytest

from mainstem.cli.acl_choices import Choices, People, Resources, Roles, operation, principal, word_of
from mainstem.core.identity.acl import (
    CLUSTER_NAME,
    AccessRule,
    AclBinding,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from mainstem.core.identity.acl_filter import AclFilter

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
ALICE = People(allowed=("alice",))


def said(choices: Choices) -> set[tuple[ResourceType, str, Operation]]:
    found = choices.bindings()
    assert len(found) == len(set(found))
    return {(pattern.type, pattern.name, rule.operation) for pattern, rule in found}


def test_one_rule() -> None:
    made = Choices(Resources(topics=("t",)), ALICE, operations=("read",)).bindings()
    rule = AccessRule("User:alice", "*", Operation.READ, Permission.ALLOW)
    assert made == [AclBinding(ResourcePattern(TOPIC, "t"), rule)]


def test_everybody_with_everything_from_everywhere_named() -> None:
    people = People(("alice", "User:bob"), ("eve",), ("192.0.2.1", "192.0.2.2"), ())
    resources = Resources(("t",), ("g",), (), cluster=False, pattern_type=PatternType.PREFIXED)
    made = Choices(resources, people, operations=("Read", "describe")).bindings()
    assert len(made) == 2 * (2 * 2 * 2 + 2)
    assert all(pattern.pattern_type is PatternType.PREFIXED for pattern, _ in made)
    denials = {rule for _, rule in made if rule.permission is Permission.DENY}
    assert {(rule.principal, rule.host) for rule in denials} == {("User:eve", "*")}


def test_without_an_operation_all_are_meant() -> None:
    assert said(Choices(Resources(cluster=True), ALICE)) == {(CLUSTER, CLUSTER_NAME, Operation.ALL)}


def test_what_a_producer_and_a_consumer_need() -> None:
    resources = Resources(("t",), ("g",), ("x",))
    assert said(Choices(resources, ALICE, Roles(is_producer=True, is_idempotent=True))) == {
        (TOPIC, "t", Operation.WRITE),
        (TOPIC, "t", Operation.DESCRIBE),
        (TOPIC, "t", Operation.CREATE),
        (ResourceType.TRANSACTIONAL_ID, "x", Operation.WRITE),
        (ResourceType.TRANSACTIONAL_ID, "x", Operation.DESCRIBE),
        (CLUSTER, CLUSTER_NAME, Operation.IDEMPOTENT_WRITE),
    }
    assert said(Choices(resources, ALICE, Roles(is_consumer=True))) == {
        (TOPIC, "t", Operation.READ),
        (TOPIC, "t", Operation.DESCRIBE),
        (GROUP, "g", Operation.READ),
    }


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        (Choices(Resources(topics=("t",)), People()), "--allow USER"),
        (Choices(Resources(), ALICE), "no resource"),
        (Choices(Resources(groups=("g",)), ALICE, operations=("write",)), "a group has no operation Write"),
        (Choices(Resources(), ALICE, Roles(is_producer=True)), "--topic"),
        (Choices(Resources(topics=("t",)), ALICE, Roles(is_consumer=True)), "--group"),
        (Choices(Resources(("t",)), ALICE, Roles(is_producer=True), ("read",)), "--operation"),
        (Choices(Resources(("t",)), People((), ("eve",)), Roles(is_producer=True)), "deny"),
    ],
)
def test_what_is_no_rule(choices: Choices, told: str) -> None:
    with pytest.raises(click.UsageError, match=told):
        choices.bindings()


def test_filters() -> None:
    assert Choices(Resources(pattern_type=PatternType.ANY), People()).filters() == [AclFilter()]
    of_topic = Choices(Resources(("t",), pattern_type=PatternType.MATCH), People()).filters()
    assert of_topic == [AclFilter(TOPIC, "t", PatternType.MATCH)]
    of_alice = Choices(Resources(), People(("alice",), ("alice",)), operations=("read",)).filters()
    reading = AclFilter(principal="User:alice", operation=Operation.READ)
    assert of_alice == [
        reading._replace(permission=Permission.ALLOW),
        reading._replace(permission=Permission.DENY),
    ]
    from_host = Choices(Resources(), People(("alice",), (), ("192.0.2.1",))).filters()
    assert from_host == [AclFilter(principal="User:alice", host="192.0.2.1", permission=Permission.ALLOW)]
    of_role = Choices(Resources(("t",), ("g",)), ALICE, Roles(is_consumer=True))
    assert {(f.type, f.name, f.operation) for f in of_role.filters()} == said(of_role)


def test_words() -> None:
    for known in Operation:
        if known > Operation.ANY:
            for word in (word_of(known), known.name, known.name.lower().replace("_", "-")):
                assert operation(word) is known
    with pytest.raises(click.BadParameter, match="DescribeConfigs"):
        operation("fly")
    assert principal("alice") == "User:alice"
    assert principal("User:CN=x") == "User:CN=x"
    with pytest.raises(click.BadParameter):
        principal(" ")
