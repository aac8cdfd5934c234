"""AlterPartitionReassignments: moves replicas to other nodes, as far as the controller can."""

from __future__ import annotations

from typing import Final

from mainstem.core.errors import InvalidReplicationFactor
from mainstem.core.image import ClusterImage
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicPartition
from mainstem.wire.kafka.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

Replicas = list[int] | None  # none: cancel


async def handle(
    context: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    wanted: dict[TopicPartition, Replicas] = {
        TopicPartition(topic.name, partition.partition_index): partition.replicas
        for topic in request.topics
        for partition in topic.partitions
    }
    outcomes: dict[TopicPartition, MainstemError | None] = {}
    if not request.allow_replication_factor_change:
        outcomes.update(_changes_of_factor(context.broker.image, wanted))
    change = context.broker.admin.alter_reassignments(
        {at: replicas for at, replicas in wanted.items() if at not in outcomes}
    )
    outcomes.update(await context.begun_changes.within(request.timeout_ms, change))
    answers: dict[str, ReassignableTopicResponse] = {}
    for at in wanted:
        topic = answers.get(at.topic)
        if topic is None:
            topic = answers[at.topic] = ReassignableTopicResponse(name=at.topic)
        topic.partitions.append(_answer(at.partition, outcomes[at]))
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None,
        responses=list(answers.values()),
    )


def _changes_of_factor(
    image: ClusterImage, wanted: dict[TopicPartition, Replicas]
) -> dict[TopicPartition, MainstemError]:
    refused: dict[TopicPartition, MainstemError] = {}
    for at, replicas in wanted.items():
        topic = image.topics.get(at.topic)
        if replicas is None or topic is None or not 0 <= at.partition < len(topic.partitions):
            continue
        present = len(topic.partitions[at.partition].replicas)
        if len(replicas) != present:
            refused[at] = InvalidReplicationFactor(
                f"{at} has {present} replicas, and the request does not allow to make them {len(replicas)}"
            )
    return refused


def _answer(index: int, error: MainstemError | None) -> ReassignablePartitionResponse:
    if error is None:
        return ReassignablePartitionResponse(partition_index=index, error_message=None)
    return ReassignablePartitionResponse(
        partition_index=index, error_code=error_code(error), error_message=error_message(error)
    )


HANDLER: Final = Handler(
    key=45,
    min_version=0,
    max_version=1,
    handle=handle,
    remarks="Replicas cannot be moved yet: only those that a partition has are accepted.",
)
