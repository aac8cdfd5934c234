"""DescribeTransactionWriters, ours: what was decided last, and what is prepared since."""

from __future__ import annotations

from typing import Final

from mainstem.core.transactions.coordinator import WriterState
from mainstem.core.transactions.prepared import NO_NUMBER
from mainstem.core.transactions.states import state_name
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.extensions.describe_transaction_writers import (
    DescribeTransactionWritersRequest,
    DescribeTransactionWritersResponse,
    PreparedTransaction,
    TransactionWriter,
)


async def handle(
    context: RequestContext, request: DescribeTransactionWritersRequest
) -> DescribeTransactionWritersResponse:
    transactions = context.broker.transactions
    if request.writers is None:  # all that this node coordinates
        return DescribeTransactionWritersResponse(
            writers=[_described(state) for state in transactions.list_writers()]
        )
    response = DescribeTransactionWritersResponse()
    for writer in request.writers:
        try:
            described = _described(transactions.describe_writer(writer))
        except MainstemError as error:
            described = TransactionWriter(
                writer=writer, error_code=error_code(error), error_message=error_message(error)
            )
        response.writers.append(described)
    return response


def _described(state: WriterState) -> TransactionWriter:
    decision = state.decision
    return TransactionWriter(
        writer=state.writer,
        decided_number=NO_NUMBER if decision is None else decision.number,
        decided_time_ms=NO_NUMBER if decision is None else decision.decided_ms,
        committed_ids=[] if decision is None else sorted(decision.committed),
        prepared=[
            PreparedTransaction(
                transactional_id=transactional_id,
                number=stored.prepared.number,
                since_time_ms=stored.prepared.since_ms,
                transaction_state=state_name(stored.state),
            )
            for transactional_id, stored in sorted(state.prepared.items())
            if stored.prepared is not None
        ],
    )


def refuse(
    request: DescribeTransactionWritersRequest, code: ErrorCode, message: str
) -> DescribeTransactionWritersResponse:
    if request.writers is None:
        return DescribeTransactionWritersResponse(error_code=code, error_message=message)
    return DescribeTransactionWritersResponse(
        writers=[
            TransactionWriter(writer=writer, error_code=code, error_message=message)
            for writer in request.writers
        ]
    )


HANDLER: Final = Handler(
    key=10002,
    min_version=0,
    max_version=0,
    handle=handle,
    refuse=refuse,
    remarks="The last decision of writers, and what waits for the next: docs/prepared-transactions.md.",
)
