"""CreatePartitions: gives topics more partitions."""

from __future__ import annotations

from typing import Final

from mainstem.core.ports import NewPartitions
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

FIRST_THROTTLED: Final = 3


async def handle(context: RequestContext, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    wanted = [_new_partitions(topic) for topic in request.topics]
    changes = context.changes(first_strict=FIRST_THROTTLED)
    growth = changes.create_partitions(wanted, validate_only=request.validate_only)
    outcomes = await context.begun_changes.within(request.timeout_ms, growth)
    return CreatePartitionsResponse(
        throttle_time_ms=changes.throttle_ms,
        results=[
            CreatePartitionsTopicResult(name=name)
            if error is None
            else CreatePartitionsTopicResult(
                name=name, error_code=error_code(error), error_message=error_message(error)
            )
            for name, error in outcomes.items()
        ],
    )


def _new_partitions(topic: CreatePartitionsTopic) -> NewPartitions:
    assignment = None if topic.assignments is None else [tuple(each.broker_ids) for each in topic.assignments]
    return NewPartitions(topic.name, topic.count, assignment)


def refuse(request: CreatePartitionsRequest, code: ErrorCode, message: str) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(name=topic.name, error_code=code, error_message=message)
            for topic in request.topics
        ]
    )


HANDLER: Final = Handler(key=37, min_version=0, max_version=3, handle=handle, refuse=refuse)
