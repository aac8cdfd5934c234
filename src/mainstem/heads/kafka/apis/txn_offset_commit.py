"""TxnOffsetCommit: where a consumer goes on reading, committed as part of a producer's transaction.

Up to version 4 the client has told the transaction coordinator of the group before (AddOffsetsToTxn); from
version 5 on the commit does that by itself. Versions 0 to 2 do not say for which member they commit: there
only the producer's epoch keeps those out who came too late.
"""

from __future__ import annotations

from typing import Final

from mainstem.core.errors import (
    InvalidCommitOffsetSize,
    InvalidGroupId,
    InvalidTransactionState,
    TransactionAbortable,
)
from mainstem.core.groups.requests import CommitRequest, OffsetToCommit
from mainstem.core.transactions.admission import TransactionalProducer
from mainstem.heads.kafka.apis.offset_commit import MAX_OFFSETS
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

FIRST_THAT_KNOWS_ABORTABLE: Final = 4
FIRST_THAT_ADDS_PARTITIONS: Final = 5


async def handle(context: RequestContext, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
    response = TxnOffsetCommitResponse()
    offsets: list[OffsetToCommit] = []
    answers: list[TxnOffsetCommitResponsePartition] = []  # of `offsets`, in their order
    for topic in request.topics:
        known = context.broker.image.topics.get(topic.name)
        count = 0 if known is None else len(known.partitions)
        partitions: list[TxnOffsetCommitResponsePartition] = []
        for wanted in topic.partitions:
            index = wanted.partition_index
            answer = TxnOffsetCommitResponsePartition(partition_index=index)
            partitions.append(answer)
            if not 0 <= index < count:
                answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                continue
            answers.append(answer)
            offsets.append(
                OffsetToCommit(
                    topic.name,
                    index,
                    wanted.committed_offset,
                    wanted.committed_leader_epoch,
                    wanted.committed_metadata,
                )
            )
        response.topics.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=partitions))
    if offsets:
        await _commit(context, request, offsets, answers)
    return response


async def _commit(
    context: RequestContext,
    request: TxnOffsetCommitRequest,
    offsets: list[OffsetToCommit],
    answers: list[TxnOffsetCommitResponsePartition],
) -> None:
    try:
        errors = await _write(context, request, offsets)
    except MainstemError as error:
        code = error_code(error)
        if isinstance(error, TransactionAbortable) and context.version < FIRST_THAT_KNOWS_ABORTABLE:
            code = ErrorCode.INVALID_TXN_STATE
        for answer in answers:
            answer.error_code = code
    else:
        for answer, refusal in zip(answers, errors, strict=True):
            if refusal is not None:
                answer.error_code = error_code(refusal)


async def _write(
    context: RequestContext, request: TxnOffsetCommitRequest, offsets: list[OffsetToCommit]
) -> list[Exception | None]:
    if not request.group_id:
        raise InvalidGroupId("a group needs a name")
    if len(offsets) > MAX_OFFSETS:
        raise InvalidCommitOffsetSize(f"a request commits {MAX_OFFSETS} offsets at most: split it")
    transactional_offsets = context.broker.transactional_offsets
    if transactional_offsets is None:
        raise InvalidTransactionState("this broker has no transaction coordinator")
    commit = CommitRequest(
        group_id=request.group_id,
        offsets=offsets,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id,
    )
    producer = TransactionalProducer(request.transactional_id, request.producer_id, request.producer_epoch)
    return await transactional_offsets.commit(
        commit, producer, adds_partition=context.version >= FIRST_THAT_ADDS_PARTITIONS
    )


def refuse(request: TxnOffsetCommitRequest, code: ErrorCode, message: str) -> TxnOffsetCommitResponse:  # noqa: ARG001
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(partition_index=wanted.partition_index, error_code=code)
                    for wanted in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


HANDLER: Final = Handler(
    key=28,
    min_version=0,
    max_version=5,
    handle=handle,
    refuse=refuse,
    remarks="One request commits 20,000 offsets at most, as in OffsetCommit.",
)
