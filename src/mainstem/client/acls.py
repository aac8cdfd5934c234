"""Access rules: found, added and removed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mainstem.client.cluster import ClusterClient
from mainstem.client.errors import check
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
from mainstem.wire.kafka.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from mainstem.wire.kafka.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from mainstem.wire.kafka.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

_SUBJECT = "access rules"


def list_rules(cluster: ClusterClient, asked: AclFilter) -> list[AclBinding]:
    request = DescribeAclsRequest(
        resource_type_filter=asked.type,
        resource_name_filter=asked.name,
        pattern_type_filter=asked.pattern_type,
        principal_filter=asked.principal,
        host_filter=asked.host,
        operation=asked.operation,
        permission_type=asked.permission,
    )
    answer = cluster.ask(request, DescribeAclsResponse)
    check(answer.error_code, _SUBJECT, answer.error_message)
    return sorted(
        _binding(
            (resource.resource_type, resource.resource_name, resource.pattern_type),
            (rule.principal, rule.host, rule.operation, rule.permission_type),
        )
        for resource in answer.resources
        for rule in resource.acls
    )


def add_rules(cluster: ClusterClient, bindings: Sequence[AclBinding]) -> None:
    """All of them; the first that is refused is raised, and those beside it are made."""
    request = CreateAclsRequest(
        creations=[
            AclCreation(
                resource_type=pattern.type,
                resource_name=pattern.name,
                resource_pattern_type=pattern.pattern_type,
                principal=rule.principal,
                host=rule.host,
                operation=rule.operation,
                permission_type=rule.permission,
            )
            for pattern, rule in bindings
        ]
    )
    answer = cluster.ask_controller(request, CreateAclsResponse)
    for (pattern, _), result in zip(bindings, answer.results, strict=True):
        check(result.error_code, f"a rule about {pattern}", result.error_message)


def remove_rules(cluster: ClusterClient, filters: Iterable[AclFilter]) -> list[AclBinding]:
    """Those that were removed."""
    request = DeleteAclsRequest(
        filters=[
            DeleteAclsFilter(
                resource_type_filter=asked.type,
                resource_name_filter=asked.name,
                pattern_type_filter=asked.pattern_type,
                principal_filter=asked.principal,
                host_filter=asked.host,
                operation=asked.operation,
                permission_type=asked.permission,
            )
            for asked in filters
        ]
    )
    answer = cluster.ask_controller(request, DeleteAclsResponse)
    removed: set[AclBinding] = set()
    for result in answer.filter_results:
        check(result.error_code, _SUBJECT, result.error_message)
        for rule in result.matching_acls:
            check(rule.error_code, _SUBJECT, rule.error_message)
            removed.add(
                _binding(
                    (rule.resource_type, rule.resource_name, rule.pattern_type),
                    (rule.principal, rule.host, rule.operation, rule.permission_type),
                )
            )
    return sorted(removed)


def _binding(pattern: tuple[int, str, int], rule: tuple[str, str, int, int]) -> AclBinding:
    resource_type, name, pattern_type = pattern
    principal, host, operation, permission = rule
    return AclBinding(
        ResourcePattern(ResourceType(resource_type), name, PatternType(pattern_type)),
        AccessRule(principal, host, Operation(operation), Permission(permission)),
    )
