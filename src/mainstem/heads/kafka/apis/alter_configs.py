"""AlterConfigs: sets all options of a resource at once; what is not named goes back to its default."""

from __future__ import annotations

from typing import Final

from mainstem.core.errors import InvalidRequest
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.config_resources import ResourceKey, distinct, outcome_of, sort_out
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


async def handle(context: RequestContext, request: AlterConfigsRequest) -> AlterConfigsResponse:
    wanted, refused = sort_out(request.resources, _options)
    outcomes = await context.broker.admin.replace_configs(wanted, validate_only=request.validate_only)
    return AlterConfigsResponse(
        responses=[_answer(key, outcome_of(key, refused, outcomes)) for key in distinct(request.resources)]
    )


def _options(resource: AlterConfigsResource) -> dict[str, str]:
    options: dict[str, str] = {}
    for option in resource.configs:
        if option.value is None:
            raise InvalidRequest(f"{option.name} has no value: leave it out to go back to its default")
        options[option.name] = option.value
    return options


def _answer(key: ResourceKey, error: MainstemError | None) -> AlterConfigsResourceResponse:
    response = AlterConfigsResourceResponse(
        error_message=None, resource_type=key.type, resource_name=key.name
    )
    if error is not None:
        response.error_code, response.error_message = error_code(error), error_message(error)
    return response


def refuse(request: AlterConfigsRequest, code: ErrorCode, message: str) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code=code, error_message=message, resource_type=key.type, resource_name=key.name
            )
            for key in distinct(request.resources)
        ]
    )


HANDLER: Final = Handler(
    key=33,
    min_version=0,
    max_version=2,
    handle=handle,
    refuse=refuse,
    remarks="As DescribeConfigs. An option that the broker does not have is refused and not kept.",
)
