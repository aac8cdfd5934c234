"""DecideTransactions, ours: commits the listed transactions of a writer and aborts its others, at once."""

from __future__ import annotations

from typing import Final

from mainstem.core.transactions.state_topic import ensure_transactions_topic
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.extensions.decide_transactions import (
    DecideTransactionsRequest,
    DecideTransactionsResponse,
)


async def handle(context: RequestContext, request: DecideTransactionsRequest) -> DecideTransactionsResponse:
    await ensure_transactions_topic(context.broker)
    decision = await context.broker.transactions.decide(
        request.writer, request.number, frozenset(request.committed_ids)
    )
    return DecideTransactionsResponse(
        decided_number=decision.number,
        decided_time_ms=decision.decided_ms,
        committed_ids=sorted(decision.committed),
    )


HANDLER: Final = Handler(
    key=10001,
    min_version=0,
    max_version=0,
    handle=handle,
    remarks="One decision on all that a writer prepared: docs/prepared-transactions.md.",
)
