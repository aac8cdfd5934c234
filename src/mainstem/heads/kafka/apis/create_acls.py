"""CreateAcls: adds access rules. One that is there already is no error."""

from __future__ import annotations

from typing import Final

from mainstem.core.identity.acl import (
    AccessRule,
    AclBinding,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from mainstem.heads.kafka.acl_messages import check_enabled, known
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)


async def handle(context: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse:
    check_enabled(context)
    outcomes = await context.broker.acls.create_acls([_binding(each) for each in request.creations])
    return CreateAclsResponse(
        results=[
            AclCreationResult(error_message=None)
            if error is None
            else AclCreationResult(error_code=error_code(error), error_message=error_message(error))
            for error in outcomes
        ]
    )


def _binding(creation: AclCreation) -> AclBinding:
    pattern = ResourcePattern(
        known(ResourceType, creation.resource_type),
        creation.resource_name,
        known(PatternType, creation.resource_pattern_type),
    )
    rule = AccessRule(
        creation.principal,
        creation.host,
        known(Operation, creation.operation),
        known(Permission, creation.permission_type),
    )
    return AclBinding(pattern, rule)


def refuse(request: CreateAclsRequest, code: ErrorCode, message: str) -> CreateAclsResponse:
    return CreateAclsResponse(
        results=[AclCreationResult(error_code=code, error_message=message) for _ in request.creations]
    )


HANDLER: Final = Handler(
    key=30,
    min_version=1,
    max_version=3,
    handle=handle,
    refuse=refuse,
    remarks=(
        "A creation with a type or operation that is not known is refused with INVALID_REQUEST in its place; "
        "Kafka closes the connection. All rules of one pattern take 1 MB at most together."
    ),
)
