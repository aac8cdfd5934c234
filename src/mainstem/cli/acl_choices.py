"""Which access rules the options of `mainstem acl` mean: pure, from words to rules and filters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product

import click

from mainstem.core.identity.acl import (
    CLUSTER_NAME,
    OPERATIONS_OF,
    AccessRule,
    AclBinding,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from mainstem.core.identity.acl_filter import AclFilter

EVERY_HOST = "*"


@dataclass(frozen=True)
class Resources:
    """What rules are about, as named on the command line."""

    topics: Sequence[str] = ()
    groups: Sequence[str] = ()
    transactional_ids: Sequence[str] = ()
    cluster: bool = False
    pattern_type: PatternType = PatternType.LITERAL

    def of_type(self, resource_type: ResourceType) -> list[ResourcePattern]:
        if resource_type is ResourceType.CLUSTER:
            return [ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME)] if self.cluster else []
        names = {
            ResourceType.TOPIC: self.topics,
            ResourceType.GROUP: self.groups,
            ResourceType.TRANSACTIONAL_ID: self.transactional_ids,
        }[resource_type]
        return [ResourcePattern(resource_type, name, self.pattern_type) for name in dict.fromkeys(names)]

    @property
    def patterns(self) -> list[ResourcePattern]:
        types = (
            ResourceType.TOPIC,
            ResourceType.GROUP,
            ResourceType.TRANSACTIONAL_ID,
            ResourceType.CLUSTER,
        )
        return [pattern for resource_type in types for pattern in self.of_type(resource_type)]


@dataclass(frozen=True)
class People:
    """Whom rules allow or deny something, and from where."""

    allowed: Sequence[str] = ()
    denied: Sequence[str] = ()
    allow_hosts: Sequence[str] = ()
    deny_hosts: Sequence[str] = ()

    def rules(self, operations: Iterable[Operation]) -> list[AccessRule]:
        told = list(operations)
        allowing = product(self.allowed, self.allow_hosts or (EVERY_HOST,), told)
        denying = product(self.denied, self.deny_hosts or (EVERY_HOST,), told)
        return [
            *(
                AccessRule(principal(who), host, operation, Permission.ALLOW)
                for who, host, operation in allowing
            ),
            *(
                AccessRule(principal(who), host, operation, Permission.DENY)
                for who, host, operation in denying
            ),
        ]


@dataclass(frozen=True)
class Roles:
    """What a producer or a consumer needs, in one word."""

    is_producer: bool = False
    is_consumer: bool = False
    is_idempotent: bool = False

    def __bool__(self) -> bool:
        return self.is_producer or self.is_consumer

    def needs(self, resources: Resources) -> dict[ResourcePattern, list[Operation]]:
        if self.is_producer and not resources.topics:
            raise click.UsageError("--producer goes with --topic")
        if self.is_consumer and not (resources.topics and resources.groups):
            raise click.UsageError("--consumer goes with --topic and --group")
        needs: dict[ResourcePattern, list[Operation]] = {}

        def add(patterns: Iterable[ResourcePattern], *operations: Operation) -> None:
            for pattern in patterns:
                known = needs.setdefault(pattern, [])
                known += [operation for operation in operations if operation not in known]

        topics = resources.of_type(ResourceType.TOPIC)
        if self.is_producer:
            add(topics, Operation.WRITE, Operation.DESCRIBE, Operation.CREATE)
            ids = resources.of_type(ResourceType.TRANSACTIONAL_ID)
            add(ids, Operation.WRITE, Operation.DESCRIBE)
            if self.is_idempotent:
                add([ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME)], Operation.IDEMPOTENT_WRITE)
        if self.is_consumer:
            add(topics, Operation.READ, Operation.DESCRIBE)
            add(resources.of_type(ResourceType.GROUP), Operation.READ)
        return needs


@dataclass(frozen=True)
class Choices:
    resources: Resources
    people: People
    roles: Roles = field(default_factory=Roles)
    operations: Sequence[str] = ()

    def bindings(self) -> list[AclBinding]:
        """The rules to be made."""
        if not (self.people.allowed or self.people.denied):
            raise click.UsageError("nobody is named: add --allow USER or --deny USER")
        if self.roles:
            if self.operations:
                raise click.UsageError("--producer and --consumer say what is allowed: leave --operation out")
            if self.people.denied:
                raise click.UsageError("--producer and --consumer allow; deny single operations instead")
            needs = self.roles.needs(self.resources)
        else:
            needs = {pattern: self._operations(pattern) for pattern in self._named()}
        return [
            AclBinding(pattern, rule)
            for pattern, operations in needs.items()
            for rule in self.people.rules(operations)
        ]

    def filters(self) -> list[AclFilter]:
        """The rules to be found: without names all of them, by whomever."""
        patterns: Sequence[ResourcePattern | None] = self.resources.patterns or (None,)
        if self.roles:
            return [
                AclFilter(pattern.type, pattern.name, pattern.pattern_type, *_of(rule))
                for pattern, rule in self.bindings()
            ]
        rules: Sequence[tuple[str | None, str | None, Operation, Permission]]
        operations = [operation(word) for word in self.operations] or [Operation.ANY]
        named = self.people.allowed or self.people.denied
        rules = [_of(rule) for rule in self.people.rules(operations)] if named else []
        if named and not (self.people.allow_hosts or self.people.deny_hosts):
            rules = [(who, None, what, permission) for who, _, what, permission in rules]
        if not named:
            rules = [(None, None, what, Permission.ANY) for what in operations]
        return [
            AclFilter(principal=who, host=host, operation=what, permission=permission)
            if pattern is None
            else AclFilter(
                pattern.type, pattern.name, self.resources.pattern_type, who, host, what, permission
            )
            for pattern in patterns
            for who, host, what, permission in dict.fromkeys(rules)
        ]

    def _named(self) -> list[ResourcePattern]:
        patterns = self.resources.patterns
        if not patterns:
            raise click.UsageError(
                "no resource is named: add --topic, --group, --transactional-id or --cluster"
            )
        return patterns

    def _operations(self, pattern: ResourcePattern) -> list[Operation]:
        wanted = [operation(word) for word in self.operations] or [Operation.ALL]
        legal = OPERATIONS_OF[pattern.type]
        for each in wanted:
            if each is not Operation.ALL and each not in legal:
                words = ", ".join(word_of(known) for known in legal)
                kind = pattern.type.name.lower().replace("_", " ")
                raise click.UsageError(f"a {kind} has no operation {word_of(each)}: it has {words}, All")
        return wanted


def _of(rule: AccessRule) -> tuple[str, str, Operation, Permission]:
    return rule.principal, rule.host, rule.operation, rule.permission


def principal(text: str) -> str:
    """`alice` is `User:alice`."""
    name = text.strip()
    if not name:
        raise click.BadParameter("a user has a name", param_hint="--allow")
    return name if ":" in name else f"User:{name}"


def operation(word: str) -> Operation:
    """`DescribeConfigs`, `describe-configs` and `DESCRIBE_CONFIGS` are one."""
    plain = word.replace("-", "").replace("_", "").lower()
    for known in Operation:
        if known > Operation.ANY and known.name.replace("_", "").lower() == plain:
            return known
    legal = ", ".join(word_of(known) for known in Operation if known > Operation.ANY)
    raise click.BadParameter(f"{word!r} is no operation: {legal}", param_hint="--operation")


def word_of(known: Operation | ResourceType | PatternType | Permission) -> str:
    """As Kafka's tools write it: `DescribeConfigs`."""
    return known.name.replace("_", " ").title().replace(" ", "")
