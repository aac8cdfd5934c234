"""IncrementalAlterConfigs: changes single options; lists can be appended to and taken from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mainstem.core.errors import InvalidRequest
from mainstem.core.ports import ConfigChange, ConfigResource
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.config_resources import (
    LOGGERS,
    ResourceKey,
    check_own_loggers,
    distinct,
    outcome_of,
    sort_out,
)
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

OPERATIONS: Final[Mapping[int, str]] = {0: "set", 1: "delete", 2: "append", 3: "subtract"}


async def handle(
    context: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    wanted, refused = sort_out(request.resources, _changes)
    outcomes = _change_loggers(context, wanted, request.validate_only)
    others = {resource: changes for resource, changes in wanted.items() if resource not in outcomes}
    outcomes.update(await context.broker.admin.alter_configs(others, validate_only=request.validate_only))
    return IncrementalAlterConfigsResponse(
        responses=[_answer(key, outcome_of(key, refused, outcomes)) for key in distinct(request.resources)]
    )


def _change_loggers(
    context: RequestContext, wanted: Mapping[ConfigResource, Sequence[ConfigChange]], validate_only: bool
) -> dict[ConfigResource, MainstemError | None]:
    """Levels are this process's and in nobody's metadata."""
    outcomes: dict[ConfigResource, MainstemError | None] = {}
    for resource, changes in wanted.items():
        if resource.kind != LOGGERS:
            continue
        outcomes[resource] = None
        try:
            check_own_loggers(resource, context.broker.config.node_id)
            context.broker.loggers.change(changes, validate_only=validate_only)
        except MainstemError as error:
            outcomes[resource] = error
    return outcomes


def _changes(resource: AlterConfigsResource) -> list[ConfigChange]:
    changes = []
    for option in resource.configs:
        operation = OPERATIONS.get(option.config_operation)
        if operation is None:
            raise InvalidRequest(f"there is no operation {option.config_operation} on an option")
        changes.append(ConfigChange(option.name, operation, option.value))
    return changes


def _answer(key: ResourceKey, error: MainstemError | None) -> AlterConfigsResourceResponse:
    response = AlterConfigsResourceResponse(
        error_message=None, resource_type=key.type, resource_name=key.name
    )
    if error is not None:
        response.error_code, response.error_message = error_code(error), error_message(error)
    return response


def refuse(
    request: IncrementalAlterConfigsRequest, code: ErrorCode, message: str
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code=code, error_message=message, resource_type=key.type, resource_name=key.name
            )
            for key in distinct(request.resources)
        ]
    )


HANDLER: Final = Handler(
    key=44,
    min_version=0,
    max_version=1,
    handle=handle,
    refuse=refuse,
    remarks=(
        "Levels of loggers last until the broker ends. An option that the broker does not have is refused "
        "and not kept."
    ),
)
