"""DescribeTopicPartitions: leaders, replicas and in-sync sets of topics, a page at a time.

Topics come in the order of their names. A page holds so many partitions as the client asks for, at most
`max.request.partition.size.limit`, and ends with a cursor when there are more: the topic and the partition
that come next.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from mainstem.core.errors import InvalidRequest
from mainstem.core.identity.acl import Operation, ResourceType
from mainstem.core.image import ClusterImage, PartitionImage, TopicImage
from mainstem.core.slices import Slices
from mainstem.heads.kafka.authorized_operations import topic_operations
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsRequestCursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseCursor,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)


async def handle(
    context: RequestContext, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    image = context.broker.image
    cursor = request.cursor
    if cursor is not None:
        _check(cursor, [topic.name for topic in request.topics])
    asked = {topic.name for topic in request.topics} or _visible(context, image)
    names = sorted(name for name in asked if cursor is None or name >= cursor.topic_name)
    most = context.broker.config.max_request_partition_size_limit
    left = max(1, min(request.response_partition_limit, most))
    response = DescribeTopicPartitionsResponse()
    slices = Slices()
    for name in names:
        await slices.pause()
        topic = image.topics.get(name)
        if topic is None:
            response.topics.append(_unknown(name, topic_operations(context, name)))
            continue
        start = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        if left == 0:
            response.next_cursor = DescribeTopicPartitionsResponseCursor(
                topic_name=name, partition_index=start
            )
            break
        described = _described(image, topic, start, left, topic_operations(context, name))
        response.topics.append(described)
        left -= len(described.partitions)
        end = start + len(described.partitions)
        if end < len(topic.partitions):
            response.next_cursor = DescribeTopicPartitionsResponseCursor(topic_name=name, partition_index=end)
            break
    return response


def _visible(context: RequestContext, image: ClusterImage) -> list[str]:
    """A list of all topics has those that one may describe."""
    kind = ResourceType.TOPIC
    return [name for name in image.topics if context.may(Operation.DESCRIBE, kind, name, is_quiet=True)]


def _check(cursor: DescribeTopicPartitionsRequestCursor, names: Sequence[str]) -> None:
    if cursor.partition_index < 0:
        raise InvalidRequest(f"the cursor is at partition {cursor.partition_index}, which cannot be")
    if names and cursor.topic_name not in names:
        raise InvalidRequest(f"the cursor is at topic '{cursor.topic_name}', which is not asked for")


def _described(
    image: ClusterImage, topic: TopicImage, start: int, count: int, operations: int
) -> DescribeTopicPartitionsResponseTopic:
    shown = topic.partitions[start : start + count]
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[
            _partition(index, partition, image.brokers) for index, partition in enumerate(shown, start)
        ],
        topic_authorized_operations=operations,
    )


def _partition(
    index: int, partition: PartitionImage, live: Collection[int]
) -> DescribeTopicPartitionsResponsePartition:
    has_leader = partition.leader in live
    return DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.NONE if has_leader else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=index,
        leader_id=partition.leader if has_leader else -1,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=[],
        last_known_elr=[],
        offline_replicas=[node_id for node_id in partition.replicas if node_id not in live],
    )


def _unknown(name: str, operations: int) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        name=name,
        topic_authorized_operations=operations,
    )


def refuse(
    request: DescribeTopicPartitionsRequest,
    code: ErrorCode,
    message: str,  # noqa: ARG001 - no place for it
) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(name=topic.name, error_code=code) for topic in request.topics
        ]
    )


HANDLER: Final = Handler(
    key=75,
    min_version=0,
    max_version=0,
    handle=handle,
    refuse=refuse,
    remarks="There are no eligible leader replicas beside the in-sync ones: both lists are empty.",
)
