"""Access rules and questions about them, between their messages and the core.

A number that this release does not know becomes UNKNOWN, which no rule and no question may have.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol, TypeVar

from mainstem.core.errors import SecurityDisabled
from mainstem.core.identity.acl import Operation, PatternType, Permission, ResourceType
from mainstem.core.identity.acl_filter import AclFilter
from mainstem.heads.kafka.context import RequestContext

E = TypeVar("E", bound=IntEnum)


class FilterMessage(Protocol):
    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int


def known(kind: type[E], code: int) -> E:
    return kind(code) if code in set(kind) else kind(0)


def acl_filter(asked: FilterMessage) -> AclFilter:
    return AclFilter(
        known(ResourceType, asked.resource_type_filter),
        asked.resource_name_filter,
        known(PatternType, asked.pattern_type_filter),
        asked.principal_filter,
        asked.host_filter,
        known(Operation, asked.operation),
        known(Permission, asked.permission_type),
    )


def check_enabled(context: RequestContext) -> None:
    if context.broker.authorizer is None:
        raise SecurityDisabled(
            "No Authorizer is configured: start the broker with authorizer.class.name=standard"
        )
