"""DescribeAcls: the access rules that a filter takes, by what they are about."""

from __future__ import annotations

from typing import Final

from mainstem.core.errors import InvalidRequest
from mainstem.core.identity.acl import ResourcePattern
from mainstem.core.slices import Slices
from mainstem.heads.kafka.acl_messages import acl_filter, check_enabled
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)


async def handle(context: RequestContext, request: DescribeAclsRequest) -> DescribeAclsResponse:
    check_enabled(context)
    asked = acl_filter(request)
    if asked.has_unknown:
        raise InvalidRequest("the filter names a type, an operation or a permission that is not known")
    found: dict[ResourcePattern, DescribeAclsResource] = {}
    slices = Slices()
    for pattern, rule in asked.bindings(context.broker.image.acls):
        await slices.pause()
        resource = found.get(pattern)
        if resource is None:
            resource = found[pattern] = DescribeAclsResource(
                resource_type=pattern.type, resource_name=pattern.name, pattern_type=pattern.pattern_type
            )
        resource.acls.append(
            AclDescription(
                principal=rule.principal,
                host=rule.host,
                operation=rule.operation,
                permission_type=rule.permission,
            )
        )
    return DescribeAclsResponse(error_message=None, resources=list(found.values()))


HANDLER: Final = Handler(key=29, min_version=1, max_version=3, handle=handle)
