"""DescribeConfigs: the options of topics, brokers and groups, their values, and where these come from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from mainstem.config.describe import (
    ConfigEntry,
    describe_broker,
    describe_cluster_defaults,
    describe_topic,
)
from mainstem.core.errors import InvalidRequest, UnknownTopicOrPartition
from mainstem.core.ports import ConfigResource
from mainstem.core.slices import Slices
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.config_resources import LOGGERS, ResourceKey, check_own_loggers, config_resource
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

_OF_LOGGER: Final = 6  # where a value comes from
_STRING: Final = 2


async def handle(context: RequestContext, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    response = DescribeConfigsResponse()
    slices = Slices()
    for resource in request.resources:
        await slices.pause()
        result = DescribeConfigsResult(
            error_message=None, resource_type=resource.resource_type, resource_name=resource.resource_name
        )
        response.results.append(result)
        try:
            asked = config_resource(ResourceKey(resource.resource_type, resource.resource_name))
            # As with Kafka, a client that names no option gets all of them.
            names = resource.configuration_keys or None
            if asked.kind == LOGGERS:
                result.configs = _levels(context, asked, names)
                continue
            entries = _entries(context, asked, names)
        except MainstemError as error:
            result.error_code, result.error_message = error_code(error), error_message(error)
        else:
            result.configs = [
                _shown(entry, request.include_synonyms, request.include_documentation) for entry in entries
            ]
    return response


def _entries(
    context: RequestContext, resource: ConfigResource, names: Collection[str] | None
) -> Sequence[ConfigEntry]:
    image, config = context.broker.image, context.broker.config
    if resource.kind == "topic":
        topic = image.topics.get(resource.name)
        if topic is None:
            raise UnknownTopicOrPartition(f"there is no topic '{resource.name}'")
        return describe_topic(topic.config, config, names)
    if resource.kind == "broker":
        if not resource.name:
            return describe_cluster_defaults(image.broker_configs.get("", {}), names)
        if resource.name != str(config.node_id):
            raise InvalidRequest(
                f"this is broker {config.node_id}: ask for it, or for '' to see what is set for all brokers, "
                f"not for {resource.name!r}"
            )
        return describe_broker(config, names)
    if not resource.name:
        raise InvalidRequest("the options of a group are asked for by its name")
    return ()  # groups have no options here


def _levels(
    context: RequestContext, resource: ConfigResource, names: Collection[str] | None
) -> list[DescribeConfigsResourceResult]:
    check_own_loggers(resource, context.broker.config.node_id)
    return [
        DescribeConfigsResourceResult(
            name=name, value=level, config_source=_OF_LOGGER, config_type=_STRING, documentation=None
        )
        for name, level in context.broker.loggers.levels().items()
        if names is None or name in names
    ]


def _shown(
    entry: ConfigEntry, with_synonyms: bool, with_documentation: bool
) -> DescribeConfigsResourceResult:
    result = DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
        config_type=entry.type,
        documentation=entry.doc if with_documentation else None,
    )
    if with_synonyms:
        result.synonyms = [
            DescribeConfigsSynonym(name=name, value=value, source=source)
            for name, value, source in entry.synonyms
        ]
    return result


def refuse(request: DescribeConfigsRequest, code: ErrorCode, message: str) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(
                error_code=code,
                error_message=message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )


HANDLER: Final = Handler(
    key=32,
    min_version=1,
    max_version=4,
    handle=handle,
    refuse=refuse,
    remarks=(
        "Client metrics are refused with INVALID_REQUEST, and groups have no options: this broker has no "
        "such thing. It shows the options that it has, and none that would do nothing."
    ),
)
