"""DescribeClientQuotas: the limits of users, client ids and addresses."""

from __future__ import annotations

from typing import Final

from mainstem.core.quotas.filters import FilterPart, check_filter, matching
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)


async def handle(
    context: RequestContext, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    parts = [FilterPart(part.entity_type, part.match_type, part.match) for part in request.components]
    check_filter(parts)
    found = matching(context.broker.image.quotas, parts, strict=request.strict)
    return DescribeClientQuotasResponse(
        error_message=None,
        entries=[
            EntryData(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.parts],
                values=[ValueData(key=key, value=value) for key, value in sorted(limits.items())],
            )
            for entity, limits in found
        ],
    )


def refuse(
    request: DescribeClientQuotasRequest,  # noqa: ARG001
    code: ErrorCode,
    message: str,
) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_code=code, error_message=message, entries=None)


HANDLER: Final = Handler(key=48, min_version=0, max_version=1, handle=handle, refuse=refuse)
