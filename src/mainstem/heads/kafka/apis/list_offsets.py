"""ListOffsets: the first or the last offset of a partition, or that of a moment.

A timestamp below zero is a question of its own, and each came with a version:

    -1  latest          what a reader of this isolation will see next
    -2  earliest        the log start
    -3  max timestamp   the record with the greatest timestamp              (7)
    -4  earliest local  the log start: nothing is stored elsewhere          (8)
    -5  latest tiered   nothing is stored elsewhere: -1                     (9)
    -6  earliest to be stored elsewhere: -1                                 (11)

Any other asks for the first record at or after that time, -1 if there is none yet.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final, NamedTuple

from mainstem.core.broker import Broker
from mainstem.core.partition import READ_COMMITTED, Partition
from mainstem.core.slices import Slices
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
FIRST_VERSIONS: Final = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
FIRST_WITH_LEADER_EPOCH: Final = 4
_LOOK_UPS_AT_A_TIME: Final = 16  # each reads files, in a thread


class Found(NamedTuple):
    offset: int = -1
    timestamp: int = -1
    leader_epoch: int = -1  # told from version 4 on


NOTHING: Final = Found()


class Question(NamedTuple):
    version: int
    topic: str
    wanted: ListOffsetsPartition
    answer: ListOffsetsPartitionResponse  # to be filled in


async def handle(context: RequestContext, request: ListOffsetsRequest) -> ListOffsetsResponse:
    response = ListOffsetsResponse()
    questions: list[Question] = []
    for topic in request.topics:
        answers = [ListOffsetsPartitionResponse(partition_index=p.partition_index) for p in topic.partitions]
        response.topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
        questions += [
            Question(context.version, topic.name, *pair)
            for pair in zip(topic.partitions, answers, strict=True)
        ]
    times_asked = Counter((one.topic, one.wanted.partition_index) for one in questions)
    slices = Slices()
    for_files: list[Question] = []
    for one in questions:
        await slices.pause()
        if times_asked[one.topic, one.wanted.partition_index] > 1:
            one.answer.error_code = ErrorCode.INVALID_REQUEST
        elif not _supports(context.version, one.wanted.timestamp):
            one.answer.error_code = ErrorCode.UNSUPPORTED_VERSION
        elif one.wanted.timestamp >= 0 or one.wanted.timestamp == MAX_TIMESTAMP:
            for_files.append(one)
        else:
            _answer_at_once(context.broker, request.isolation_level, one)
    for start in range(0, len(for_files), _LOOK_UPS_AT_A_TIME):
        some = for_files[start : start + _LOOK_UPS_AT_A_TIME]
        await asyncio.gather(*(_answer_from_files(context.broker, request.isolation_level, o) for o in some))
    return response


def _supports(version: int, timestamp: int) -> bool:
    return timestamp >= 0 or version >= FIRST_VERSIONS.get(timestamp, version + 1)


def _answer_at_once(broker: Broker, isolation: int, question: Question) -> None:
    try:
        partition = _partition(broker, question)
    except MainstemError as error:
        question.answer.error_code = error_code(error)
        return
    timestamp = question.wanted.timestamp
    if timestamp == LATEST:
        _fill(question, Found(_end(partition, isolation), leader_epoch=partition.leader_epoch))
    elif timestamp in (EARLIEST, EARLIEST_LOCAL):
        start = partition.log_start_offset
        _fill(question, Found(start, leader_epoch=partition.epoch_of(start)))
    else:
        _fill(question, NOTHING)


async def _answer_from_files(broker: Broker, isolation: int, question: Question) -> None:
    timestamp = question.wanted.timestamp
    try:
        partition = _partition(broker, question)
        if timestamp == MAX_TIMESTAMP:
            record = await broker.offset_of_max_timestamp(partition)
        else:
            record = await broker.offset_for_timestamp(partition, timestamp)
    except MainstemError as error:
        question.answer.error_code = error_code(error)
        return
    if record is None or record.offset >= _end(partition, isolation):
        _fill(question, NOTHING)
    else:
        _fill(question, Found(record.offset, record.timestamp_ms, record.leader_epoch))


def _partition(broker: Broker, question: Question) -> Partition:
    partition = broker.partition(question.topic, question.wanted.partition_index)
    partition.check_leader_epoch(question.wanted.current_leader_epoch)
    return partition


def _end(partition: Partition, isolation: int) -> int:
    return partition.last_stable_offset if isolation == READ_COMMITTED else partition.high_watermark


def _fill(question: Question, found: Found) -> None:
    answer = question.answer
    answer.offset = found.offset
    answer.timestamp = found.timestamp
    if question.version >= FIRST_WITH_LEADER_EPOCH:
        answer.leader_epoch = found.leader_epoch


def refuse(request: ListOffsetsRequest, code: ErrorCode, message: str) -> ListOffsetsResponse:  # noqa: ARG001
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(partition_index=one.partition_index, error_code=code)
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


HANDLER: Final = Handler(
    key=2,
    min_version=1,
    max_version=11,
    handle=handle,
    refuse=refuse,
    remarks="All data are local: the questions about tiered storage are answered so.",
)
