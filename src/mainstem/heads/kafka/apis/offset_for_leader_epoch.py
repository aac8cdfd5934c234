"""OffsetForLeaderEpoch: where the records of an epoch end, for clients that look for a lost tail."""

from __future__ import annotations

from typing import Final

from mainstem.core.broker import Broker
from mainstem.core.slices import Slices
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


async def handle(
    context: RequestContext, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    response = OffsetForLeaderEpochResponse()
    slices = Slices()
    for topic in request.topics:
        ends = []
        for wanted in topic.partitions:
            await slices.pause()
            ends.append(_end_of(context.broker, topic.topic, wanted))
        response.topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=ends))
    return response


def _end_of(broker: Broker, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    try:
        partition = broker.partition(topic, wanted.partition)
        partition.check_leader_epoch(wanted.current_leader_epoch)
    except MainstemError as error:
        return EpochEndOffset(partition=wanted.partition, error_code=error_code(error))
    epoch, end_offset = partition.epoch_end_offset(wanted.leader_epoch)
    return EpochEndOffset(partition=wanted.partition, leader_epoch=epoch, end_offset=end_offset)


def refuse(
    request: OffsetForLeaderEpochRequest,
    code: ErrorCode,
    message: str,  # noqa: ARG001 - no place for it
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    EpochEndOffset(partition=one.partition, error_code=code) for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


HANDLER: Final = Handler(key=23, min_version=2, max_version=4, handle=handle, refuse=refuse)
