"""Access rules, compiled for questions.

A view never changes; when rules change the next one is made, which takes over what it can of the last.
A decision looks at the patterns that cover the name: the literal one, the literal `*`, and for each length
that some prefix of the type has, the one beginning of the name. Of a pattern's rules it looks at those of
the principal and those of everybody. So it takes as long as there are lengths of prefixes, and not as there
are rules.

    denied    a rule that covers the question denies it: no permission counts any more
    allowed   a rule gives the operation, or one that implies it
    unruled   nothing is said about the resource at all; the broker's option decides
    denied    else: there are rules about the resource, and none gives it
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from mainstem.core.identity.acl import (
    EVERYBODY,
    GIVEN_BY,
    WILDCARD,
    AccessRule,
    AccessRules,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)


class Verdict(Enum):
    ALLOWED = "allowed"
    DENIED = "denied"
    UNRULED = "unruled"


_Rules = Sequence[AccessRule]
_ByPrincipal = Mapping[str, _Rules]
_NO_RULES: Final[_Rules] = ()


class _Compiled(NamedTuple):
    source: tuple[AccessRule, ...]
    by_principal: _ByPrincipal


class AccessView:
    def __init__(self, rules: AccessRules, last: AccessView | None = None) -> None:
        known = {} if last is None else last._compiled
        self._compiled: dict[ResourcePattern, _Compiled] = {
            pattern: _compile(known.get(pattern), source) for pattern, source in rules.items()
        }
        self._prefix_lengths: dict[ResourceType, tuple[int, ...]] = _prefix_lengths(self._compiled)

    def decide(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> Verdict:
        host = plain_host(host)
        given_by = GIVEN_BY.get(operation, (operation,))
        is_allowed = is_ruled = False
        for by_principal in self._covering(resource_type, name):
            is_ruled = True
            for rule in _rules_for(by_principal, principal):
                if rule.host not in (WILDCARD, host):
                    continue
                if rule.permission is Permission.DENY:
                    if rule.operation in (operation, Operation.ALL):
                        return Verdict.DENIED
                elif rule.operation is Operation.ALL or rule.operation in given_by:
                    is_allowed = True
        if is_allowed:
            return Verdict.ALLOWED
        return Verdict.DENIED if is_ruled else Verdict.UNRULED

    def decide_for_any(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """Whether there is some name of that type for which the rules give the operation.

        As in Kafka, a permission counts unless a denial covers all of its names, and no permission
        implies another here.
        """
        denied, allowed = self._names_by_permission(principal, plain_host(host), operation, resource_type)
        if (PatternType.LITERAL, WILDCARD) in denied:
            return False
        return any(not _is_dominated(kind, name, denied) for kind, name in allowed)

    def _names_by_permission(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> tuple[set[tuple[PatternType, str]], set[tuple[PatternType, str]]]:
        denied: set[tuple[PatternType, str]] = set()
        allowed: set[tuple[PatternType, str]] = set()
        for pattern, (_, by_principal) in self._compiled.items():
            if pattern.type is not resource_type:
                continue
            for rule in _rules_for(by_principal, principal):
                if rule.host in (WILDCARD, host) and rule.operation in (operation, Operation.ALL):
                    names = denied if rule.permission is Permission.DENY else allowed
                    names.add((pattern.pattern_type, pattern.name))
        return denied, allowed

    def _covering(self, resource_type: ResourceType, name: str) -> Iterator[_ByPrincipal]:
        compiled = self._compiled
        found = compiled.get(ResourcePattern(resource_type, name))
        if found is not None:
            yield found.by_principal
        if name != WILDCARD:
            found = compiled.get(ResourcePattern(resource_type, WILDCARD))
            if found is not None:
                yield found.by_principal
        for length in self._prefix_lengths.get(resource_type, ()):
            if length > len(name):
                return
            found = compiled.get(ResourcePattern(resource_type, name[:length], PatternType.PREFIXED))
            if found is not None:
                yield found.by_principal


def plain_host(text: str) -> str:
    """An address in its one short form: rules may have been written by Java, which spells ::1 out in full."""
    if text == WILDCARD:
        return text
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text
    mapped = address.ipv4_mapped if address.version == 6 else None
    return str(address if mapped is None else mapped)


def _rules_for(by_principal: _ByPrincipal, principal: str) -> Iterator[AccessRule]:
    yield from by_principal.get(principal, _NO_RULES)
    if principal != EVERYBODY:
        yield from by_principal.get(EVERYBODY, _NO_RULES)


def _compile(known: _Compiled | None, source: tuple[AccessRule, ...]) -> _Compiled:
    if known is not None and known.source is source:
        return known
    by_principal: dict[str, list[AccessRule]] = {}
    for rule in source:
        host = plain_host(rule.host)
        by_principal.setdefault(rule.principal, []).append(
            rule if host == rule.host else rule._replace(host=host)
        )
    return _Compiled(source, by_principal)


def _prefix_lengths(patterns: Mapping[ResourcePattern, _Compiled]) -> dict[ResourceType, tuple[int, ...]]:
    lengths: dict[ResourceType, set[int]] = {}
    for pattern in patterns:
        if pattern.pattern_type is PatternType.PREFIXED:
            lengths.setdefault(pattern.type, set()).add(len(pattern.name))
    return {resource_type: tuple(sorted(found)) for resource_type, found in lengths.items()}


def _is_dominated(kind: PatternType, name: str, denied: set[tuple[PatternType, str]]) -> bool:
    """Whether denials cover all names of a permission: its own literal name, or a beginning of it."""
    if kind is PatternType.LITERAL and name == WILDCARD:
        return False
    if kind is PatternType.LITERAL and (PatternType.LITERAL, name) in denied:
        return True
    return any((PatternType.PREFIXED, name[:length]) in denied for length in range(1, len(name) + 1))


EMPTY_VIEW: Final = AccessView({})
