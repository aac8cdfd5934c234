"""AlterClientQuotas: sets and takes back limits; those of one entity are changed together or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from mainstem.core.errors import InvalidRequest
from mainstem.core.ports import QuotaChange
from mainstem.core.quotas.entity import QuotaEntity, checked_entity
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntityData,
    AlterClientQuotasResponseEntryData,
)


async def handle(context: RequestContext, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    outcomes: list[QuotaEntity | MainstemError] = [_entity(entry) for entry in request.entries]
    counts = Counter(entity for entity in outcomes if isinstance(entity, QuotaEntity))
    changes: dict[QuotaEntity, Sequence[QuotaChange]] = {}
    for index, (entry, entity) in enumerate(zip(request.entries, outcomes, strict=True)):
        if not isinstance(entity, QuotaEntity):
            continue
        if counts[entity] > 1:
            outcomes[index] = InvalidRequest(f"the request names {entity} more than once")
        else:
            changes[entity] = [QuotaChange(op.key, None if op.remove else op.value) for op in entry.ops]
    answers = await context.broker.admin.alter_quotas(changes, validate_only=request.validate_only)
    return AlterClientQuotasResponse(
        entries=[
            _answer(entry, answers[outcome] if isinstance(outcome, QuotaEntity) else outcome)
            for entry, outcome in zip(request.entries, outcomes, strict=True)
        ]
    )


def _entity(entry: AlterClientQuotasRequestEntryData) -> QuotaEntity | MainstemError:
    try:
        return checked_entity((part.entity_type, part.entity_name) for part in entry.entity)
    except MainstemError as error:
        return error


def _answer(
    entry: AlterClientQuotasRequestEntryData, error: MainstemError | None
) -> AlterClientQuotasResponseEntryData:
    if error is None:
        return AlterClientQuotasResponseEntryData(error_message=None, entity=_named(entry.entity))
    return AlterClientQuotasResponseEntryData(
        error_code=error_code(error), error_message=error_message(error), entity=_named(entry.entity)
    )


def _named(
    parts: Sequence[AlterClientQuotasRequestEntityData],
) -> list[AlterClientQuotasResponseEntityData]:
    return [
        AlterClientQuotasResponseEntityData(entity_type=part.entity_type, entity_name=part.entity_name)
        for part in parts
    ]


def refuse(request: AlterClientQuotasRequest, code: ErrorCode, message: str) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(
        entries=[
            AlterClientQuotasResponseEntryData(
                error_code=code, error_message=message, entity=_named(entry.entity)
            )
            for entry in request.entries
        ]
    )


HANDLER: Final = Handler(
    key=49,
    min_version=0,
    max_version=1,
    handle=handle,
    refuse=refuse,
    remarks="An ip is an address: a host's name, which Kafka would look up, is refused.",
)
