"""ListPartitionReassignments: the partitions whose replicas are being moved."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mainstem.core.image import ClusterImage
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.model.ids import TopicPartition
from mainstem.wire.kafka.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


async def handle(
    context: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    wanted = None
    if request.topics is not None:
        wanted = _existing(context.broker.image, request.topics)
    topics: dict[str, OngoingTopicReassignment] = {}
    for moving in context.broker.admin.list_reassignments(wanted):
        name, index = moving.topic_partition
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = OngoingTopicReassignment(name=name)
        topic.partitions.append(
            OngoingPartitionReassignment(
                partition_index=index,
                replicas=list(moving.replicas),
                adding_replicas=list(moving.adding),
                removing_replicas=list(moving.removing),
            )
        )
    return ListPartitionReassignmentsResponse(error_message=None, topics=list(topics.values()))


def _existing(image: ClusterImage, named: Iterable[ListPartitionReassignmentsTopics]) -> list[TopicPartition]:
    """What does not exist is not being moved: that is no error."""
    return [
        TopicPartition(topic.name, index)
        for topic in named
        if topic.name in image.topics
        for index in topic.partition_indexes
        if 0 <= index < len(image.topics[topic.name].partitions)
    ]


HANDLER: Final = Handler(
    key=46,
    min_version=0,
    max_version=0,
    handle=handle,
    remarks="Never lists one, because replicas cannot be moved yet.",
)
