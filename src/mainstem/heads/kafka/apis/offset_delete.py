"""OffsetDelete: forgets committed offsets of topics that the group does not read any more."""

from __future__ import annotations

from typing import Final

from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


async def handle(context: RequestContext, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    response = OffsetDeleteResponse()
    named: list[tuple[str, int]] = []
    answers: list[OffsetDeleteResponsePartition] = []  # of `named`, in its order
    known = context.broker.image.topics
    for topic in request.topics:
        image = known.get(topic.name)
        count = 0 if image is None else len(image.partitions)
        answered = OffsetDeleteResponseTopic(name=topic.name)
        response.topics.append(answered)
        for partition in topic.partitions:
            answer = OffsetDeleteResponsePartition(partition_index=partition.partition_index)
            answered.partitions.append(answer)
            if 0 <= partition.partition_index < count:
                named.append((topic.name, partition.partition_index))
                answers.append(answer)
            else:
                answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if named:
        errors = await context.broker.groups.delete_offsets(request.group_id, named)
        for answer, error in zip(answers, errors, strict=True):
            if error is not None:
                answer.error_code = error_code(error)
    return response


HANDLER: Final = Handler(key=47, min_version=0, max_version=0, handle=handle)
