"""Questions about access rules: which ones are there, which ones shall go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mainstem.core.identity.acl import (
    WILDCARD,
    AccessRule,
    AccessRules,
    AclBinding,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)


class AclFilter(NamedTuple):
    """None, and ANY, take everything."""

    type: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY

    @property
    def has_unknown(self) -> bool:
        """Whether it asks for what this release does not know; such a filter takes nothing."""
        return (
            self.type is ResourceType.UNKNOWN
            or self.pattern_type is PatternType.UNKNOWN
            or self.operation is Operation.UNKNOWN
            or self.permission is Permission.UNKNOWN
        )

    def takes(self, pattern: ResourcePattern, rule: AccessRule) -> bool:
        return self.takes_pattern(pattern) and self.takes_rule(rule)

    def takes_pattern(self, pattern: ResourcePattern) -> bool:
        if self.type not in (ResourceType.ANY, pattern.type):
            return False
        if self.pattern_type is PatternType.MATCH:
            return self.name is None or covers(pattern, self.name)
        if self.pattern_type not in (PatternType.ANY, pattern.pattern_type):
            return False
        return self.name is None or self.name == pattern.name

    def takes_rule(self, rule: AccessRule) -> bool:
        return (
            (self.principal is None or self.principal == rule.principal)
            and (self.host is None or self.host == rule.host)
            and self.operation in (Operation.ANY, rule.operation)
            and self.permission in (Permission.ANY, rule.permission)
        )

    def bindings(self, rules: AccessRules) -> Iterator[AclBinding]:
        for pattern, of_pattern in self._candidates(rules):
            for rule in of_pattern:
                if self.takes_rule(rule):
                    yield AclBinding(pattern, rule)

    def _candidates(self, rules: AccessRules) -> Iterator[tuple[ResourcePattern, tuple[AccessRule, ...]]]:
        """A filter that names one pattern need not look at the others."""
        is_exact = self.type is not ResourceType.ANY and self.pattern_type in (
            PatternType.LITERAL,
            PatternType.PREFIXED,
        )
        if is_exact and self.name is not None:
            pattern = ResourcePattern(self.type, self.name, self.pattern_type)
            of_pattern = rules.get(pattern)
            if of_pattern is not None:
                yield pattern, of_pattern
            return
        for pattern, of_pattern in rules.items():
            if self.takes_pattern(pattern):
                yield pattern, of_pattern


def covers(pattern: ResourcePattern, name: str) -> bool:
    """Whether a pattern is about the resource of that name, of its type."""
    if pattern.pattern_type is PatternType.PREFIXED:
        return name.startswith(pattern.name)
    return pattern.name in (name, WILDCARD)
