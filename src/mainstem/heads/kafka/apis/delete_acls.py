"""DeleteAcls: removes the access rules that filters take, and says which these were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mainstem.core.ports import AclDeletion
from mainstem.heads.kafka.acl_messages import acl_filter, check_enabled
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)


async def handle(context: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse:
    check_enabled(context)
    outcomes = await context.broker.acls.delete_acls([acl_filter(each) for each in request.filters])
    return DeleteAclsResponse(filter_results=[_result(outcome) for outcome in outcomes])


def _result(outcome: Sequence[AclDeletion] | MainstemError) -> DeleteAclsFilterResult:
    if isinstance(outcome, MainstemError):
        return DeleteAclsFilterResult(error_code=error_code(outcome), error_message=error_message(outcome))
    return DeleteAclsFilterResult(error_message=None, matching_acls=[_deleted(each) for each in outcome])


def _deleted(deletion: AclDeletion) -> DeleteAclsMatchingAcl:
    (pattern, rule), error = deletion
    return DeleteAclsMatchingAcl(
        error_code=ErrorCode.NONE if error is None else error_code(error),
        error_message=None if error is None else error_message(error),
        resource_type=pattern.type,
        resource_name=pattern.name,
        pattern_type=pattern.pattern_type,
        principal=rule.principal,
        host=rule.host,
        operation=rule.operation,
        permission_type=rule.permission,
    )


def refuse(request: DeleteAclsRequest, code: ErrorCode, message: str) -> DeleteAclsResponse:
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(error_code=code, error_message=message) for _ in request.filters
        ]
    )


HANDLER: Final = Handler(key=31, min_version=1, max_version=3, handle=handle, refuse=refuse)
