"""PrepareTransaction, ours: the open transaction waits for its writer's decision from now on."""

from __future__ import annotations

from typing import Final

from mainstem.core.transactions.prepared import AlreadyDecided
from mainstem.core.transactions.transitions import ProducerIdentity
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.extensions.prepare_transaction import (
    PrepareTransactionRequest,
    PrepareTransactionResponse,
)


async def handle(context: RequestContext, request: PrepareTransactionRequest) -> PrepareTransactionResponse:
    try:
        await context.broker.transactions.prepare(
            request.transactional_id,
            ProducerIdentity(request.producer_id, request.producer_epoch),
            request.number,
        )
    except AlreadyDecided as error:
        return PrepareTransactionResponse(
            error_code=ErrorCode.INVALID_TXN_STATE,
            error_message=error_message(error),
            decided_number=error.decision.number,
        )
    return PrepareTransactionResponse()


HANDLER: Final = Handler(
    key=10000,
    min_version=0,
    max_version=0,
    handle=handle,
    remarks="A transaction that outlives its producer: docs/prepared-transactions.md.",
)
