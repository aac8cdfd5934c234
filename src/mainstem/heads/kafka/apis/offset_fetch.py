"""OffsetFetch: where the consumers of a group were; from version 8 on of several groups at once.

A partition without a committed offset is answered with offset -1 and no error, whether it exists or not. Up
to version 9 topics are named, from version 10 on they are given by id: there, an id that no topic has is an
error, and where all offsets are asked for, those of topics that are gone are left out. With `require_stable`
(version 7) an offset that an open transaction may be about to replace is answered as unstable: ask again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mainstem.core.groups.requests import NO_OFFSET, FetchedOffset
from mainstem.core.slices import Slices
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.model.ids import ZERO_TOPIC_ID, TopicId
from mainstem.wire.kafka.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

FIRST_WITH_SEVERAL_GROUPS: Final = 8
FIRST_WITH_TOPIC_IDS: Final = 10


async def handle(context: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
    if context.version < FIRST_WITH_SEVERAL_GROUPS:
        return await _of_one_group(context, request)
    slices = Slices()
    groups = []
    for group in request.groups:
        await slices.pause()
        try:
            if context.version < FIRST_WITH_TOPIC_IDS:
                topics = await _by_name(context, group, request.require_stable)
            else:
                topics = await _by_id(context, group, request.require_stable)
        except MainstemError as error:
            groups.append(OffsetFetchResponseGroup(group_id=group.group_id, error_code=error_code(error)))
        else:
            groups.append(OffsetFetchResponseGroup(group_id=group.group_id, topics=topics))
    return OffsetFetchResponse(groups=groups)


# --- one group


async def _of_one_group(context: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
    wanted = None if request.topics is None else [(t.name, t.partition_indexes) for t in request.topics]
    try:
        found = await context.broker.groups.fetch_offsets(
            request.group_id, wanted, require_stable=request.require_stable
        )
    except MainstemError as error:
        return refuse(request, error_code(error), error_message(error))
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=offset.partition,
                        committed_offset=offset.offset,
                        committed_leader_epoch=offset.leader_epoch,
                        metadata=offset.metadata,
                        error_code=_code_of(offset),
                    )
                    for offset in offsets
                ],
            )
            for name, offsets in _by_topic(found).items()
        ]
    )


# --- several groups


async def _by_name(
    context: RequestContext, group: OffsetFetchRequestGroup, require_stable: bool
) -> list[OffsetFetchResponseTopics]:
    wanted = None if group.topics is None else [(t.name, t.partition_indexes) for t in group.topics]
    found = await context.broker.groups.fetch_offsets(group.group_id, wanted, require_stable=require_stable)
    return [_topic(name, ZERO_TOPIC_ID, offsets) for name, offsets in _by_topic(found).items()]


async def _by_id(
    context: RequestContext, group: OffsetFetchRequestGroup, require_stable: bool
) -> list[OffsetFetchResponseTopics]:
    image = context.broker.image
    unknown: list[OffsetFetchResponseTopics] = []
    wanted: list[tuple[str, Sequence[int]]] | None = None
    if group.topics is not None:
        wanted = []
        for topic in group.topics:
            known = image.topics_by_id.get(TopicId(topic.topic_id))
            if known is not None:
                wanted.append((known.name, topic.partition_indexes))
            else:
                unknown.append(_unknown(topic.topic_id, topic.partition_indexes))
    found = await context.broker.groups.fetch_offsets(group.group_id, wanted, require_stable=require_stable)
    answered = []
    for name, offsets in _by_topic(found).items():
        present = image.topics.get(name)
        if present is not None:
            answered.append(_topic(name, present.topic_id, [_of(present.topic_id, o) for o in offsets]))
    return answered + unknown


def _of(topic_id: TopicId, offset: FetchedOffset) -> FetchedOffset:
    """An offset that was committed to an older topic of the same name says nothing about this one."""
    if offset.topic_id in (ZERO_TOPIC_ID, topic_id):
        return offset
    return FetchedOffset(offset.topic, offset.partition, NO_OFFSET, -1, "")


def _unknown(topic_id: bytes, indexes: Sequence[int]) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        topic_id=topic_id,
        partitions=[
            OffsetFetchResponsePartitions(
                partition_index=index, committed_offset=NO_OFFSET, error_code=ErrorCode.UNKNOWN_TOPIC_ID
            )
            for index in indexes
        ],
    )


def _topic(name: str, topic_id: TopicId, offsets: Sequence[FetchedOffset]) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=name,
        topic_id=topic_id,
        partitions=[
            OffsetFetchResponsePartitions(
                partition_index=offset.partition,
                committed_offset=offset.offset,
                committed_leader_epoch=offset.leader_epoch,
                metadata=offset.metadata,
                error_code=_code_of(offset),
            )
            for offset in offsets
        ],
    )


def _code_of(offset: FetchedOffset) -> ErrorCode:
    return ErrorCode.UNSTABLE_OFFSET_COMMIT if offset.is_unstable else ErrorCode.NONE


def _by_topic(found: Sequence[FetchedOffset]) -> dict[str, list[FetchedOffset]]:
    topics: dict[str, list[FetchedOffset]] = {}
    for offset in found:
        topics.setdefault(offset.topic, []).append(offset)
    return topics


def refuse(request: OffsetFetchRequest, code: ErrorCode, message: str) -> OffsetFetchResponse:  # noqa: ARG001
    """In each place that some version has for it: the codec leaves out what the request's version lacks."""
    return OffsetFetchResponse(
        error_code=code,
        topics=[_refused(topic, code) for topic in request.topics or ()],
        groups=[OffsetFetchResponseGroup(group_id=each.group_id, error_code=code) for each in request.groups],
    )


def _refused(topic: OffsetFetchRequestTopic, code: ErrorCode) -> OffsetFetchResponseTopic:
    partitions = [
        OffsetFetchResponsePartition(partition_index=index, committed_offset=NO_OFFSET, error_code=code)
        for index in topic.partition_indexes
    ]
    return OffsetFetchResponseTopic(name=topic.name, partitions=partitions)


HANDLER: Final = Handler(
    key=9,
    min_version=1,
    max_version=10,
    handle=handle,
    refuse=refuse,
)
