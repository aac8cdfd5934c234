"""The compiled view of access rules against a model that looks at every rule, one after the other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mainstem.core.identity.access_view import AccessView, Verdict
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

NAMES = st.text("ab*", min_size=1, max_size=3)
PRINCIPALS = st.sampled_from(["User:a", "User:b", "User:*", "Role:a"])
HOSTS = st.sampled_from(["*", "1.1.1.1", "2.2.2.2"])
TYPES = st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP])
ASKED = st.sampled_from([operation for operation in Operation if operation > Operation.ALL])
PATTERNS = st.builds(
    ResourcePattern, TYPES, NAMES, st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED])
)
RULES = st.builds(
    AccessRule,
    PRINCIPALS,
    HOSTS,
    ASKED | st.just(Operation.ALL),
    st.sampled_from([Permission.ALLOW, Permission.ALLOW, Permission.DENY]),
)
BINDINGS = st.lists(st.builds(AclBinding, PATTERNS, RULES), max_size=12, unique=True)

IMPLIED = {
    Operation.DESCRIBE: {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER},
    Operation.DESCRIBE_CONFIGS: {Operation.ALTER_CONFIGS},
}


def grouped(bindings: list[AclBinding]) -> dict[ResourcePattern, tuple[AccessRule, ...]]:
    rules: dict[ResourcePattern, tuple[AccessRule, ...]] = {}
    for pattern, rule in bindings:
        rules[pattern] = (*rules.get(pattern, ()), rule)
    return rules


def is_about(pattern: ResourcePattern, resource_type: ResourceType, name: str) -> bool:
    if pattern.type != resource_type:
        return False
    if pattern.pattern_type is PatternType.PREFIXED:
        return name.startswith(pattern.name)
    return pattern.name in ("*", name)


def model(
    bindings: list[AclBinding],
    principal: str,
    host: str,
    operation: Operation,
    resource_type: ResourceType,
    name: str,
) -> Verdict:
    about = [rule for pattern, rule in bindings if is_about(pattern, resource_type, name)]
    if not about:
        return Verdict.UNRULED
    mine = [rule for rule in about if rule.principal in (principal, "User:*") and rule.host in (host, "*")]
    if any(r.permission is Permission.DENY and r.operation in (operation, Operation.ALL) for r in mine):
        return Verdict.DENIED
    giving = {operation, Operation.ALL} | IMPLIED.get(operation, set())
    if any(rule.permission is Permission.ALLOW and rule.operation in giving for rule in mine):
        return Verdict.ALLOWED
    return Verdict.DENIED


@given(BINDINGS, PRINCIPALS, HOSTS, ASKED, TYPES, NAMES)
def test_a_decision_is_that_of_the_model(
    bindings: list[AclBinding],
    principal: str,
    host: str,
    operation: Operation,
    resource_type: ResourceType,
    name: str,
) -> None:
    question = principal, host, operation, resource_type, name
    assert AccessView(grouped(bindings)).decide(*question) is model(bindings, *question)


@given(BINDINGS, BINDINGS, PRINCIPALS, HOSTS, ASKED, TYPES, NAMES)
def test_a_view_made_from_another_is_no_other(
    before: list[AclBinding],
    after: list[AclBinding],
    principal: str,
    host: str,
    operation: Operation,
    resource_type: ResourceType,
    name: str,
) -> None:
    first, second = grouped(before), grouped(after)
    kept = {
        pattern: first[pattern] if first.get(pattern) == rules else rules for pattern, rules in second.items()
    }
    view = AccessView(kept, AccessView(first))
    question = principal, host, operation, resource_type, name
    assert view.decide(*question) is model(after, *question)


@given(BINDINGS, PRINCIPALS, HOSTS, ASKED, TYPES, st.lists(NAMES, max_size=20))
def test_some_name_is_there_wherever_a_name_is_allowed_by_its_own_operation(
    bindings: list[AclBinding],
    principal: str,
    host: str,
    operation: Operation,
    resource_type: ResourceType,
    names: list[str],
) -> None:
    direct = [b for b in bindings if b.rule.operation not in IMPLIED.get(operation, set())]
    view = AccessView(grouped(direct))
    if not view.decide_for_any(principal, host, operation, resource_type):
        # No name at all, of those that could tell: what rules name, and what lies below prefixes.
        for name in {*names, *(b.pattern.name for b in direct if b.pattern.name != "*"), "zz"}:
            assert view.decide(principal, host, operation, resource_type, name) is not Verdict.ALLOWED


@given(
    BINDINGS,
    st.builds(
        AclFilter,
        TYPES | st.just(ResourceType.ANY),
        NAMES | st.none(),
        st.sampled_from([PatternType.ANY, PatternType.MATCH, PatternType.LITERAL, PatternType.PREFIXED]),
        PRINCIPALS | st.none(),
        HOSTS | st.none(),
        ASKED | st.sampled_from([Operation.ANY, Operation.ALL]),
        st.sampled_from([Permission.ANY, Permission.ALLOW, Permission.DENY]),
    ),
)
def test_a_filter_finds_what_it_takes(bindings: list[AclBinding], asked: AclFilter) -> None:
    found = list(asked.bindings(grouped(bindings)))
    assert len(found) == len(set(found))
    assert set(found) == {binding for binding in bindings if asked.takes(*binding)}
