"""EndTxn: commits or aborts. From version 5 on, the second protocol: the producer's epoch grows with it."""

from __future__ import annotations

from typing import Final

from mainstem.core.transactions.transaction import FIRST_PROTOCOL, SECOND_PROTOCOL
from mainstem.core.transactions.transitions import ProducerIdentity
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.heads.kafka.producer_errors import producer_error_code
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.end_txn import EndTxnRequest, EndTxnResponse

FIRST_WITH_FENCED: Final = 2
FIRST_OF_SECOND_PROTOCOL: Final = 5


async def handle(context: RequestContext, request: EndTxnRequest) -> EndTxnResponse:
    is_second = context.version >= FIRST_OF_SECOND_PROTOCOL
    try:
        told = await context.broker.transactions.end(
            request.transactional_id,
            ProducerIdentity(request.producer_id, request.producer_epoch),
            request.committed,
            SECOND_PROTOCOL if is_second else FIRST_PROTOCOL,
        )
    except MainstemError as error:
        code = producer_error_code(error, knows_fenced=context.version >= FIRST_WITH_FENCED)
        return EndTxnResponse(error_code=code)
    if is_second:
        return EndTxnResponse(producer_id=told.producer_id, producer_epoch=told.epoch)
    return EndTxnResponse()


HANDLER: Final = Handler(key=26, min_version=0, max_version=5, handle=handle)
