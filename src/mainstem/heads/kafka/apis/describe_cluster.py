"""DescribeCluster: the cluster's id, its controller, and where its nodes are."""

from __future__ import annotations

from typing import Final

from mainstem.heads.kafka.authorized_operations import OPERATIONS_NOT_ASKED_FOR, cluster_operations
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.endpoints import node_address
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS: Final = 1
CONTROLLERS: Final = 2


async def handle(context: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    if request.endpoint_type == CONTROLLERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="this is a broker's listener, there is none of controllers: ask for brokers",
        )
    if request.endpoint_type != BROKERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"there are no endpoints of type {request.endpoint_type}",
        )
    image = context.broker.image
    addresses = [node_address(image.brokers[node_id], context.listener) for node_id in sorted(image.brokers)]
    return DescribeClusterResponse(
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        brokers=[
            DescribeClusterBroker(broker_id=each.node_id, host=each.host, port=each.port, rack=each.rack)
            for each in addresses
        ],
        cluster_authorized_operations=(
            cluster_operations(context)
            if request.include_cluster_authorized_operations
            else OPERATIONS_NOT_ASKED_FOR
        ),
    )


HANDLER: Final = Handler(
    key=60,
    min_version=0,
    max_version=2,
    handle=handle,
    remarks=(
        "There are no listeners of controllers to describe. Brokers that are away are left out, "
        "`include_fenced_brokers` or not."
    ),
)
