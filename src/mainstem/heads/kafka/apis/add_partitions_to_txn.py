"""AddPartitionsToTxn: what a producer of the first protocol sends before it writes to a partition.

From version 4 on brokers ask each other: for many transactions at once, and also whether a partition is in
a transaction without putting it there (`verify_only`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mainstem.core.errors import OperationNotAttempted, TransactionAbortable, UnknownTopicOrPartition
from mainstem.core.image import ClusterImage
from mainstem.core.transactions.transaction import FIRST_PROTOCOL
from mainstem.core.transactions.transitions import ProducerIdentity
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.heads.kafka.producer_errors import producer_error_code
from mainstem.model.errors import MainstemError
from mainstem.model.ids import TopicPartition
from mainstem.wire.kafka.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

FIRST_WITH_FENCED: Final = 2
FIRST_OF_BROKERS: Final = 4
FIRST_WITH_ABORTABLE: Final = 5

Outcomes = Mapping[TopicPartition, Exception | None]


async def handle(context: RequestContext, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    if context.version >= FIRST_OF_BROKERS:
        return AddPartitionsToTxnResponse(
            results_by_transaction=[await _of_broker(context, each) for each in request.transactions]
        )
    partitions = _named(request.v3_and_below_topics)
    producer = ProducerIdentity(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
    outcomes = await _add(context, request.v3_and_below_transactional_id, producer, partitions)
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=_by_topic(context, request.v3_and_below_topics, outcomes)
    )


async def _add(
    context: RequestContext,
    transactional_id: str,
    producer: ProducerIdentity,
    partitions: Sequence[TopicPartition],
) -> Outcomes:
    """All or none: a partition that does not exist keeps out the others."""
    unknown = [each for each in partitions if not _exists(context.broker.image, each)]
    if unknown:
        outcomes: dict[TopicPartition, Exception | None] = dict.fromkeys(
            partitions, OperationNotAttempted("another partition of the request does not exist")
        )
        outcomes.update({each: UnknownTopicOrPartition(f"there is no {each}") for each in unknown})
        return outcomes
    try:
        await context.broker.transactions.add_partitions(
            transactional_id, producer, partitions, FIRST_PROTOCOL
        )
    except MainstemError as error:
        return dict.fromkeys(partitions, error)
    return dict.fromkeys(partitions)


async def _of_broker(
    context: RequestContext, asked: AddPartitionsToTxnTransaction
) -> AddPartitionsToTxnResult:
    outcomes = await context.broker.transactions.verify(
        asked.transactional_id,
        asked.producer_id,
        asked.producer_epoch,
        _named(asked.topics),
        add=not asked.verify_only,
    )
    return AddPartitionsToTxnResult(
        transactional_id=asked.transactional_id, topic_results=_by_topic(context, asked.topics, outcomes)
    )


def _exists(image: ClusterImage, partition: TopicPartition) -> bool:
    topic = image.topics.get(partition.topic)
    return topic is not None and 0 <= partition.partition < len(topic.partitions)


def _named(topics: Sequence[AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    return [TopicPartition(topic.name, index) for topic in topics for index in topic.partitions]


def _by_topic(
    context: RequestContext, topics: Sequence[AddPartitionsToTxnTopic], outcomes: Outcomes
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=index,
                    partition_error_code=_code(context, outcomes[TopicPartition(topic.name, index)]),
                )
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]


def _code(context: RequestContext, error: Exception | None) -> ErrorCode:
    if error is None:
        return ErrorCode.NONE
    if isinstance(error, TransactionAbortable) and context.version < FIRST_WITH_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE
    return producer_error_code(error, knows_fenced=context.version >= FIRST_WITH_FENCED)


def refuse(request: AddPartitionsToTxnRequest, code: ErrorCode, message: str) -> AddPartitionsToTxnResponse:  # noqa: ARG001
    return AddPartitionsToTxnResponse(
        error_code=code,  # from version 4 on
        results_by_topic_v3_and_below=[
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
                    for index in topic.partitions
                ],
            )
            for topic in request.v3_and_below_topics
        ],
    )


HANDLER: Final = Handler(key=24, min_version=0, max_version=5, handle=handle, refuse=refuse)
