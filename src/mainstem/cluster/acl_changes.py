"""Access rules in the metadata store: what a request to change them leads to, and the writing of it.

All rules of one pattern are one value. A request is decided on the image of now, one request at a time, and
written under the controller's fence; so what was written is in this node's image, and its authorizer, before
the next request is looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from mainstem.cluster import keys
from mainstem.cluster.entries import encode_rules
from mainstem.cluster.follower import MetadataFollower
from mainstem.cluster.metadata_writer import Change, MetadataWriter
from mainstem.cluster.store import Delete, Put
from mainstem.core.errors import InvalidRequest
from mainstem.core.identity.acl import (
    CLUSTER_NAME,
    AccessRule,
    AccessRules,
    AclBinding,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from mainstem.core.identity.acl_filter import AclFilter
from mainstem.core.identity.authorizer import check_principal
from mainstem.core.ports import AclDeletion
from mainstem.model.errors import MainstemError

MAX_BYTES_PER_PATTERN = 1_000_000  # some ten thousand rules: what one value in the store may take
MAX_ITEMS_PER_REQUEST = 10_000

_Changed = dict[ResourcePattern, dict[AccessRule, None]]  # as sets that keep the order


class AclController:
    """Implements `core.ports.AclAdmin`."""

    def __init__(self, writer: MetadataWriter, follower: MetadataFollower) -> None:
        self._writer = writer
        self._follower = follower
        self._one_request = asyncio.Lock()

    @property
    def _rules(self) -> AccessRules:
        return self._follower.image.acls

    async def create_acls(self, bindings: Sequence[AclBinding]) -> list[MainstemError | None]:
        async with self._one_request:
            errors = [_problem_of(binding) for binding in bindings]
            if len(bindings) > MAX_ITEMS_PER_REQUEST:
                return [_too_many(len(bindings))] * len(bindings)
            changed: _Changed = {}
            for binding, error in zip(bindings, errors, strict=True):
                if error is None:
                    _rules_of(changed, self._rules, binding.pattern)[binding.rule] = None
            failed = await self._write(changed)
            return [
                failed.get(binding.pattern) if error is None else error
                for binding, error in zip(bindings, errors, strict=True)
            ]

    async def delete_acls(self, filters: Sequence[AclFilter]) -> list[Sequence[AclDeletion] | MainstemError]:
        async with self._one_request:
            problems = [_problem_of_filter(each) for each in filters]
            if len(filters) > MAX_ITEMS_PER_REQUEST:
                return [_too_many(len(filters))] * len(filters)
            matches: list[list[AclBinding]] = []
            changed: _Changed = {}
            for each, problem in zip(filters, problems, strict=True):
                taken = [] if problem is not None else list(each.bindings(self._rules))
                for binding in taken:
                    _rules_of(changed, self._rules, binding.pattern).pop(binding.rule, None)
                matches.append(taken)
                await asyncio.sleep(0)  # a filter may look at every rule there is
            failed = await self._write(changed)
            return [
                problem or [AclDeletion(binding, failed.get(binding.pattern)) for binding in taken]
                for problem, taken in zip(problems, matches, strict=True)
            ]

    async def _write(self, changed: _Changed) -> dict[ResourcePattern, MainstemError]:
        failed: dict[ResourcePattern, MainstemError] = {}
        changes: dict[ResourcePattern, Change] = {}
        for pattern, rules in changed.items():
            key = keys.acl_key(pattern)
            if tuple(rules) == self._rules.get(pattern, ()):
                continue
            if not rules:
                changes[pattern] = Change(Delete(key))
                continue
            value = encode_rules(list(rules))
            if len(value) > MAX_BYTES_PER_PATTERN:
                failed[pattern] = InvalidRequest(
                    f"{pattern} has too many rules: all of one pattern together take at most "
                    f"{MAX_BYTES_PER_PATTERN} bytes; give some of their users a pattern of its own"
                )
            else:
                changes[pattern] = Change(Put(key, value))
        failed.update(await self._writer.write(changes))
        return failed


def _rules_of(changed: _Changed, present: AccessRules, pattern: ResourcePattern) -> dict[AccessRule, None]:
    rules = changed.get(pattern)
    if rules is None:
        rules = changed[pattern] = dict.fromkeys(present.get(pattern, ()))
    return rules


def _problem_of(binding: AclBinding) -> MainstemError | None:
    pattern, rule = binding
    if pattern.type in (ResourceType.UNKNOWN, ResourceType.ANY):
        return InvalidRequest("a rule is about one type of resource")
    if pattern.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        return InvalidRequest("the pattern of a rule is literal or prefixed")
    if not pattern.name:
        return InvalidRequest("the name of the resource is empty")
    if pattern.type is ResourceType.CLUSTER and pattern.name != CLUSTER_NAME:
        return InvalidRequest(f"the only valid name for the cluster is {CLUSTER_NAME}")
    if rule.operation in (Operation.UNKNOWN, Operation.ANY):
        return InvalidRequest("a rule is about one operation, or about ALL of them")
    if rule.permission not in (Permission.ALLOW, Permission.DENY):
        return InvalidRequest("a rule allows or denies")
    if not rule.host:
        return InvalidRequest("the host is empty: * is every host")
    try:
        check_principal(rule.principal)
    except MainstemError as error:
        return InvalidRequest(str(error))
    return None


def _problem_of_filter(each: AclFilter) -> MainstemError | None:
    if each.has_unknown:
        return InvalidRequest("the filter names a type, an operation or a permission that is not known")
    return None


def _too_many(count: int) -> MainstemError:
    return InvalidRequest(f"a request names {MAX_ITEMS_PER_REQUEST} at most, not {count}: split it")
