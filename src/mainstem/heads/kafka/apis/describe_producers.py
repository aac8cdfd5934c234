"""DescribeProducers: which producers a partition remembers, and since when their transaction is open.

This is how a transaction that hangs is found: one that is open for long, and whose coordinator does not know
of it or of its producer any more.
"""

from __future__ import annotations

from typing import Final

from mainstem.core.slices import Slices
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)


async def handle(context: RequestContext, request: DescribeProducersRequest) -> DescribeProducersResponse:
    slices = Slices()
    topics = []
    for topic in request.topics:
        partitions = []
        for index in topic.partition_indexes:
            await slices.pause()
            partitions.append(_describe(context, topic.name, index))
        topics.append(TopicResponse(name=topic.name, partitions=partitions))
    return DescribeProducersResponse(topics=topics)


def _describe(context: RequestContext, topic: str, index: int) -> PartitionResponse:
    try:
        partition = context.broker.partition(topic, index)
    except MainstemError as error:
        code, message = error_code(error), error_message(error)
        return PartitionResponse(partition_index=index, error_code=code, error_message=message)
    return PartitionResponse(
        partition_index=index,
        active_producers=[
            ProducerState(
                producer_id=producer_id,
                producer_epoch=producer.epoch,
                last_sequence=producer.last_sequence,
                last_timestamp=producer.last_timestamp_ms,
                coordinator_epoch=producer.coordinator_epoch,
                current_txn_start_offset=producer.transaction_first_offset,
            )
            for producer_id, producer in partition.producers.items()
        ],
    )


def refuse(request: DescribeProducersRequest, code: ErrorCode, message: str) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    PartitionResponse(partition_index=index, error_code=code, error_message=message)
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


HANDLER: Final = Handler(key=61, min_version=0, max_version=0, handle=handle, refuse=refuse)
