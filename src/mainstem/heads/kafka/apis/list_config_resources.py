"""ListConfigResources: what could be asked for its options. In version 0 only client metrics could be."""

from __future__ import annotations

from typing import Final

from mainstem.core.image import ClusterImage
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.config_resources import ResourceType
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

FIRST_WITH_TYPES: Final = 1


async def handle(context: RequestContext, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    if context.version < FIRST_WITH_TYPES:
        return ListConfigResourcesResponse()
    types = request.resource_types or list(ResourceType)
    if any(each not in list(ResourceType) for each in types):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    image = context.broker.image
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=each)
            for each in dict.fromkeys(types)
            for name in _names(image, each)
        ]
    )


def _names(image: ClusterImage, resource_type: int) -> list[str]:
    if resource_type == ResourceType.TOPIC:
        return list(image.topics)
    if resource_type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        return [str(node_id) for node_id in image.brokers]
    if resource_type == ResourceType.GROUP:
        return list(image.other_configs.get("group", ()))
    return []  # there are no client metrics


HANDLER: Final = Handler(
    key=74,
    min_version=0,
    max_version=1,
    handle=handle,
    remarks="There are no client metrics to list.",
)
