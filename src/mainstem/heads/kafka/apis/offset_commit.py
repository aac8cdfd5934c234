"""OffsetCommit: where a consumer goes on reading; beside Heartbeat what every consumer keeps sending.

Only partitions that exist are committed to. Topics are named up to version 9, and given by id from
version 10 on.
"""

from __future__ import annotations

from typing import Final

from mainstem.core.errors import InvalidCommitOffsetSize
from mainstem.core.groups.requests import CommitRequest, OffsetToCommit
from mainstem.core.image import ClusterImage, TopicImage
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicId
from mainstem.wire.kafka.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

FIRST_WITH_TOPIC_IDS: Final = 10
FIRST_THAT_KNOWS_NOT_FOUND: Final = 9

# Kafka takes what fits into one batch of __consumer_offsets, about 10,000. One decision is one step of the
# loop, so there must be some end.
MAX_OFFSETS: Final = 20_000


async def handle(context: RequestContext, request: OffsetCommitRequest) -> OffsetCommitResponse:
    response = OffsetCommitResponse()
    offsets: list[OffsetToCommit] = []
    answers: list[OffsetCommitResponsePartition] = []  # of `offsets`, in their order
    by_id = context.version >= FIRST_WITH_TOPIC_IDS
    for topic in request.topics:
        known = _find(context.broker.image, topic, by_id)
        name, count = (known.name, len(known.partitions)) if known is not None else ("", 0)
        topic_id = TopicId(topic.topic_id)
        partitions: list[OffsetCommitResponsePartition] = []
        for wanted in topic.partitions:
            index = wanted.partition_index
            answer = OffsetCommitResponsePartition(partition_index=index)
            partitions.append(answer)
            if 0 <= index < count:
                answers.append(answer)
                offsets.append(
                    OffsetToCommit(
                        name,
                        index,
                        wanted.committed_offset,
                        wanted.committed_leader_epoch,
                        wanted.committed_metadata,
                        topic_id,
                    )
                )
            elif by_id and known is None:
                answer.error_code = ErrorCode.UNKNOWN_TOPIC_ID
            else:
                answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        response.topics.append(
            OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions)
        )
    if offsets:
        await _commit(context, request, offsets, answers)
    return response


def _find(image: ClusterImage, topic: OffsetCommitRequestTopic, by_id: bool) -> TopicImage | None:
    if by_id:
        return image.topics_by_id.get(TopicId(topic.topic_id))
    return image.topics.get(topic.name)


async def _commit(
    context: RequestContext,
    request: OffsetCommitRequest,
    offsets: list[OffsetToCommit],
    answers: list[OffsetCommitResponsePartition],
) -> None:
    try:
        if len(offsets) > MAX_OFFSETS:
            raise InvalidCommitOffsetSize(f"a request commits {MAX_OFFSETS} offsets at most: split it")
        errors = await context.broker.groups.commit_offsets_soon(
            CommitRequest(
                group_id=request.group_id,
                offsets=offsets,
                member_id=request.member_id,
                instance_id=request.group_instance_id,
                generation=request.generation_id_or_member_epoch,
                retention_ms=request.retention_time_ms,
                knows_group_id_not_found=context.version >= FIRST_THAT_KNOWS_NOT_FOUND,
            )
        )
    except MainstemError as error:
        code = error_code(error)
        for answer in answers:
            answer.error_code = code
    else:
        for answer, refusal in zip(answers, errors, strict=True):
            if refusal is not None:
                answer.error_code = error_code(refusal)


def refuse(request: OffsetCommitRequest, code: ErrorCode, message: str) -> OffsetCommitResponse:  # noqa: ARG001
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=wanted.partition_index, error_code=code)
                    for wanted in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


HANDLER: Final = Handler(
    key=8,
    min_version=2,
    max_version=10,
    handle=handle,
    refuse=refuse,
    remarks=("One request commits 20,000 offsets at most; Kafka takes what fits into one batch of its log."),
)
