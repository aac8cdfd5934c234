"""ElectLeaders: gives partitions to their preferred leader, or to any live replica where none leads."""

from __future__ import annotations

from typing import Final

from mainstem.core.errors import InvalidRequest
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicPartition
from mainstem.wire.kafka.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

PREFERRED: Final = 0
UNCLEAN: Final = 1


async def handle(context: RequestContext, request: ElectLeadersRequest) -> ElectLeadersResponse:
    if request.election_type not in (PREFERRED, UNCLEAN):
        raise InvalidRequest(f"there is no election of type {request.election_type}")
    wanted = None
    if request.topic_partitions is not None:
        wanted = list(
            dict.fromkeys(
                TopicPartition(topic.topic, index)
                for topic in request.topic_partitions
                for index in topic.partitions
            )
        )
    election = context.broker.admin.elect_leaders(wanted, unclean=request.election_type == UNCLEAN)
    results: dict[str, ReplicaElectionResult] = {}
    for (name, index), error in (await context.begun_changes.within(request.timeout_ms, election)).items():
        topic = results.get(name)
        if topic is None:
            topic = results[name] = ReplicaElectionResult(topic=name)
        topic.partition_result.append(_result(index, error))
    return ElectLeadersResponse(replica_election_results=list(results.values()))


def _result(index: int, error: MainstemError | None) -> PartitionResult:
    if error is None:
        return PartitionResult(partition_id=index, error_message=None)
    return PartitionResult(
        partition_id=index, error_code=error_code(error), error_message=error_message(error)
    )


def refuse(request: ElectLeadersRequest, code: ErrorCode, message: str) -> ElectLeadersResponse:
    """Per partition, which version 0 has too; at the top where all partitions were meant."""
    if request.topic_partitions is None:
        return ElectLeadersResponse(error_code=code)
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(partition_id=index, error_code=code, error_message=message)
                    for index in topic.partitions
                ],
            )
            for topic in request.topic_partitions
        ]
    )


HANDLER: Final = Handler(key=43, min_version=0, max_version=2, handle=handle, refuse=refuse)
