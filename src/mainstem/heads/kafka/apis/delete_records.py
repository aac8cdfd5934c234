"""DeleteRecords: moves the start of partitions' logs; what lies below is gone for readers at once."""

from __future__ import annotations

from typing import Final

from mainstem.core.broker import RecordDeletion
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

NO_WATERMARK: Final = -1


async def handle(context: RequestContext, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    deletions = [
        RecordDeletion(topic.name, partition.partition_index, partition.offset)
        for topic in request.topics
        for partition in topic.partitions
    ]
    outcomes = iter(
        await context.begun_changes.within(request.timeout_ms, context.broker.delete_records(deletions))
    )
    response = DeleteRecordsResponse()
    for topic in request.topics:
        answered = DeleteRecordsTopicResult(name=topic.name)
        response.topics.append(answered)
        for partition in topic.partitions:
            outcome = next(outcomes)
            result = DeleteRecordsPartitionResult(partition_index=partition.partition_index)
            if isinstance(outcome, int):
                result.low_watermark = outcome
            else:
                result.low_watermark, result.error_code = NO_WATERMARK, error_code(outcome)
            answered.partitions.append(result)
    return response


def refuse(request: DeleteRecordsRequest, code: ErrorCode, message: str) -> DeleteRecordsResponse:  # noqa: ARG001
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    DeleteRecordsPartitionResult(
                        partition_index=partition.partition_index, low_watermark=NO_WATERMARK, error_code=code
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


HANDLER: Final = Handler(key=21, min_version=0, max_version=2, handle=handle, refuse=refuse)
