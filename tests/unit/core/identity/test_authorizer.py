"""Decisions of the authorizer: Kafka's rules, what it remembers, what it logs."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import pytest
from tests.support.simulated_clock import SimulatedClock

from mainstem.core.identity import authorizer as module
from mainstem.core.identity.acl import (
    CLUSTER_NAME,
    AccessRule,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from mainstem.core.identity.authorizer import Authorizer, InvalidPrincipal, check_principal
from mainstem.core.identity.principal import ANONYMOUS, Principal

ALICE, BOB, ROOT = (Principal("User", name) for name in ("alice", "bob", "root"))
HOST = "192.0.2.7"
ALLOW, DENY = Permission.ALLOW, Permission.DENY
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
READ, WRITE, DESCRIBE = Operation.READ, Operation.WRITE, Operation.DESCRIBE

Line = tuple[str, PatternType, str, str, Operation, Permission]


def topic(
    name: str,
    operation: Operation,
    permission: Permission = ALLOW,
    *,
    principal: str = "User:alice",
    host: str = "*",
    kind: PatternType = LITERAL,
) -> Line:
    return name, kind, principal, host, operation, permission


def authorizer(*lines: Line, super_users: Iterable[str] = (), open_if_unruled: bool = False) -> Authorizer:
    made = Authorizer(
        list(super_users), allow_if_no_rule=open_if_unruled, monotonic_ms=SimulatedClock().monotonic_ms
    )
    use(made, *lines)
    return made


def use(target: Authorizer, *lines: Line) -> None:
    rules: dict[ResourcePattern, tuple[AccessRule, ...]] = {}
    for name, kind, principal, host, operation, permission in lines:
        pattern = ResourcePattern(ResourceType.TOPIC, name, kind)
        rules[pattern] = (*rules.get(pattern, ()), AccessRule(principal, host, operation, permission))
    target.use(rules)


def may(
    by: Authorizer, operation: Operation, name: str, principal: Principal = ALICE, host: str = HOST
) -> bool:
    return by.allows(principal, host, operation, ResourceType.TOPIC, name)


def test_nothing_is_allowed_that_no_rule_allows() -> None:
    by = authorizer(topic("t", READ))
    assert may(by, READ, "t")
    assert not may(by, READ, "t2")
    assert not may(by, READ, "t", BOB)
    assert not may(by, WRITE, "t")
    assert not by.allows(ALICE, HOST, READ, ResourceType.GROUP, "t")


@pytest.mark.parametrize(
    ("given", "implied"),
    [
        (Operation.READ, {Operation.DESCRIBE}),
        (Operation.WRITE, {Operation.DESCRIBE}),
        (Operation.DELETE, {Operation.DESCRIBE}),
        (Operation.ALTER, {Operation.DESCRIBE}),
        (Operation.ALTER_CONFIGS, {Operation.DESCRIBE_CONFIGS}),
        (Operation.CREATE, set()),
        (Operation.DESCRIBE_CONFIGS, set()),
    ],
)
def test_what_a_permission_implies(given: Operation, implied: set[Operation]) -> None:
    by = authorizer(topic("t", given))
    every = set(Operation) - {Operation.UNKNOWN, Operation.ANY, Operation.ALL}
    assert {operation for operation in every if may(by, operation, "t")} == {given} | implied


def test_a_denial_implies_nothing() -> None:
    by = authorizer(topic("t", Operation.ALL), topic("t", READ, DENY))
    assert not may(by, READ, "t")
    assert may(by, DESCRIBE, "t")


def test_a_denial_wins_from_whatever_pattern() -> None:
    for denial in (
        topic("t-1", READ, DENY),
        topic("t-", READ, DENY, kind=PREFIXED),
        topic("*", READ, DENY),
        topic("t-1", Operation.ALL, DENY),
        topic("t-1", READ, DENY, principal="User:*"),
        topic("t-1", READ, DENY, host=HOST),
    ):
        by = authorizer(topic("t-1", READ), topic("t", Operation.ALL, kind=PREFIXED), denial)
        assert not may(by, READ, "t-1"), denial
    by = authorizer(topic("t-1", READ), topic("t-1", READ, DENY, host="192.0.2.8"))
    assert may(by, READ, "t-1")


def test_patterns() -> None:
    assert may(authorizer(topic("ord", READ, kind=PREFIXED)), READ, "orders")
    assert may(authorizer(topic("orders", READ, kind=PREFIXED)), READ, "orders")
    assert not may(authorizer(topic("orders.", READ, kind=PREFIXED)), READ, "orders")
    assert not may(authorizer(topic("ord", READ)), READ, "orders")
    assert may(authorizer(topic("*", READ)), READ, "orders")
    assert not may(authorizer(topic("*", READ, kind=PREFIXED)), READ, "orders")
    assert may(authorizer(topic("*", READ, kind=PREFIXED)), READ, "*orders")


def test_hosts_and_everybody() -> None:
    by = authorizer(topic("t", READ, host=HOST), topic("t", WRITE, principal="User:*"))
    assert may(by, READ, "t")
    assert not may(by, READ, "t", host="192.0.2.8")
    assert may(by, WRITE, "t", ANONYMOUS)
    assert not may(by, READ, "t", ANONYMOUS)


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("0:0:0:0:0:0:0:1", "::1"),
        ("::1", "::1"),
        ("2001:DB8::0:7", "2001:db8::7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("192.0.2.7", "::ffff:192.0.2.7"),
    ],
)
def test_an_address_is_one_however_it_is_written(written: str, seen: str) -> None:
    by = authorizer(topic("t", READ), topic("t", READ, DENY, host=written), topic("u", READ, host=written))
    assert not may(by, READ, "t", host=seen)
    assert may(by, READ, "u", host=seen)
    assert may(by, READ, "t", host="192.0.2.8")
    assert by.allows_for_any(ALICE, seen, READ, ResourceType.TOPIC)
    assert not may(authorizer(topic("t", READ, host="no address")), READ, "t", host=seen)


def test_super_users_may_even_what_is_denied() -> None:
    by = authorizer(topic("t", READ, DENY, principal="User:*"), super_users=["User:root"])
    assert may(by, READ, "t", ROOT)
    assert by.allows(ROOT, HOST, Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)
    assert not may(by, READ, "t", Principal("Role", "root"))


def test_what_no_rule_is_about_may_be_open() -> None:
    by = authorizer(topic("t", READ, principal="User:bob"), open_if_unruled=True)
    assert may(by, READ, "other")
    assert not may(by, READ, "t")
    assert not may(by, WRITE, "t", BOB)


def test_whether_there_is_some_topic() -> None:
    def some(by: Authorizer, principal: Principal = ALICE) -> bool:
        return by.allows_for_any(principal, HOST, WRITE, ResourceType.TOPIC)

    assert not some(authorizer())
    assert some(authorizer(topic("t", WRITE)))
    assert some(authorizer(topic("t", Operation.ALL, kind=PREFIXED)))
    assert not some(authorizer(topic("t", READ)))
    assert not some(authorizer(topic("t", WRITE, principal="User:bob")))
    assert not some(authorizer(topic("t", WRITE, host="192.0.2.8")))
    assert not some(authorizer(topic("t", WRITE), topic("*", WRITE, DENY)))
    assert not some(authorizer(topic("t", WRITE), topic("t", WRITE, DENY)))
    assert not some(authorizer(topic("tea", WRITE, kind=PREFIXED), topic("t", WRITE, DENY, kind=PREFIXED)))
    assert not some(authorizer(topic("tea", WRITE), topic("te", WRITE, DENY, kind=PREFIXED)))
    assert some(authorizer(topic("t", WRITE, kind=PREFIXED), topic("tea", WRITE, DENY, kind=PREFIXED)))
    assert some(authorizer(topic("*", WRITE), topic("t", WRITE, DENY)))
    assert some(authorizer(super_users=["User:alice"]))
    assert some(authorizer(open_if_unruled=True))


def test_another_view_counts_at_once() -> None:
    by = authorizer(topic("t", READ))
    assert may(by, READ, "t")
    use(by, topic("t", READ), topic("t", READ, DENY))
    assert not may(by, READ, "t")
    use(by, topic("t", READ))
    assert may(by, READ, "t")
    use(by)
    assert not may(by, READ, "t")


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DECISIONS", 10)
    by = authorizer(topic("t", READ, kind=PREFIXED))
    for number in range(35):
        assert may(by, READ, f"t{number}")
        assert by.remembered_count <= 10
    before = by.remembered_count
    assert may(by, READ, "t" * 1000)
    assert by.remembered_count == before


def test_the_operations_that_one_may_carry_out() -> None:
    by = authorizer(topic("t", WRITE), topic("t", Operation.ALTER_CONFIGS))
    found = by.allowed_operations(ALICE, HOST, ResourceType.TOPIC, "t")
    assert set(found) == {WRITE, DESCRIBE, Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS}
    assert by.denied_count == 0


def test_counts_and_log_lines(caplog: pytest.LogCaptureFixture) -> None:
    by = authorizer(topic("t", READ))
    with caplog.at_level(logging.WARNING):
        assert may(by, READ, "t")
        assert not may(by, WRITE, "evil\nname")
        assert not by.allows(ALICE, HOST, WRITE, ResourceType.TOPIC, "seen only", is_quiet=True)
    assert (by.allowed_count, by.denied_count) == (1, 1)
    (line,) = (record.getMessage() for record in caplog.records)
    assert "User:alice" in line
    assert HOST in line
    assert "WRITE TOPIC" in line
    assert "\n" not in line


def test_who_is_refused_again_and_again_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    clock = SimulatedClock()
    by = Authorizer([], allow_if_no_rule=False, monotonic_ms=clock.monotonic_ms)
    with caplog.at_level(logging.WARNING):
        for _ in range(1000):
            may(by, READ, "t")
        assert len(caplog.records) == module.LINES_PER_PERIOD
        clock.advance(module.PERIOD_MS)
        may(by, READ, "t")
    assert by.denied_count == 1001
    assert str(1000 - module.LINES_PER_PERIOD) in caplog.records[module.LINES_PER_PERIOD].getMessage()


@pytest.mark.parametrize("text", ["alice", "User:", ":alice", ""])
def test_a_principal_has_a_type_and_a_name(text: str) -> None:
    with pytest.raises(InvalidPrincipal, match="User:alice"):
        check_principal(text)


@pytest.mark.parametrize("text", ["User:alice", "User:CN=a:b,O=c", "User:*"])
def test_principals(text: str) -> None:
    check_principal(text)
