"""WriteTxnMarkers: a transaction coordinator on another node ends transactions in partitions of this one.

Answered partition by partition, once the marker is committed. A coordinator that gets no answer asks again,
and a marker that is there already is not written twice.
"""

from __future__ import annotations

from typing import Final

from mainstem.core.transactions.ports import TransactionMarker
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code
from mainstem.heads.kafka.handler import Handler
from mainstem.model.ids import TopicPartition
from mainstem.wire.kafka.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)


async def handle(context: RequestContext, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(markers=[await _write(context, marker) for marker in request.markers])


async def _write(context: RequestContext, wanted: WritableTxnMarker) -> WritableTxnMarkerResult:
    marker = TransactionMarker(
        wanted.producer_id,
        wanted.producer_epoch,
        wanted.coordinator_epoch,
        wanted.transaction_result,
        {TopicPartition(topic.name, index) for topic in wanted.topics for index in topic.partition_indexes},
        max(1, wanted.transaction_version),
    )
    outcomes = await context.broker.markers.write(marker)
    result = WritableTxnMarkerResult(producer_id=wanted.producer_id)
    for topic in wanted.topics:
        answers = []
        for index in topic.partition_indexes:
            error = outcomes[TopicPartition(topic.name, index)]
            code = ErrorCode.NONE if error is None else error_code(error)
            answers.append(WritableTxnMarkerPartitionResult(partition_index=index, error_code=code))
        result.topics.append(WritableTxnMarkerTopicResult(name=topic.name, partitions=answers))
    return result


def refuse(request: WriteTxnMarkersRequest, code: ErrorCode, message: str) -> WriteTxnMarkersResponse:  # noqa: ARG001
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=wanted.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            WritableTxnMarkerPartitionResult(partition_index=index, error_code=code)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in wanted.topics
                ],
            )
            for wanted in request.markers
        ]
    )


HANDLER: Final = Handler(key=27, min_version=1, max_version=2, handle=handle, refuse=refuse)
