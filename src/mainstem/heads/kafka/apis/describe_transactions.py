"""DescribeTransactions: the state of each transactional id, and the partitions of its open transaction."""

from __future__ import annotations

from typing import Final

from mainstem.core.transactions.states import state_name
from mainstem.core.transactions.transaction import StoredTransaction
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)


async def handle(
    context: RequestContext, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse:
    response = DescribeTransactionsResponse()
    for transactional_id in request.transactional_ids:
        try:
            stored = context.broker.transactions.describe(transactional_id)
        except MainstemError as error:
            state = TransactionState(transactional_id=transactional_id, error_code=error_code(error))
        else:
            state = _described(transactional_id, stored)
        response.transaction_states.append(state)
    return response


def _described(transactional_id: str, stored: StoredTransaction) -> TransactionState:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(stored.partitions):
        by_topic.setdefault(topic, []).append(partition)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=state_name(stored.state),
        transaction_timeout_ms=stored.timeout_ms,
        transaction_start_time_ms=stored.start_ms,
        producer_id=stored.producer_id,
        producer_epoch=stored.producer_epoch,
        topics=[TopicData(topic=topic, partitions=indexes) for topic, indexes in by_topic.items()],
    )


def refuse(
    request: DescribeTransactionsRequest,
    code: ErrorCode,
    message: str,  # noqa: ARG001
) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[
            TransactionState(transactional_id=each, error_code=code) for each in request.transactional_ids
        ]
    )


HANDLER: Final = Handler(key=65, min_version=0, max_version=0, handle=handle, refuse=refuse)
