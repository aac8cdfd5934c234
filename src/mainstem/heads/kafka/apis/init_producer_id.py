"""InitProducerId: a number of its own for a producer, by which its repeats are known.

An idempotent producer that asks again, because its old number is not good any more, simply gets a new one.
One with a transactional id gets the number that belongs to the id, with a higher epoch: whoever had the
id before is refused from then on, and a transaction that it left open is aborted.
"""

from __future__ import annotations

from typing import Final

from mainstem.core.transactions.state_topic import ensure_transactions_topic
from mainstem.core.transactions.transitions import ProducerIdentity
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.heads.kafka.producer_errors import producer_error_code
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

FIRST_WITH_FENCED: Final = 4
_NONE: Final = -1


async def handle(context: RequestContext, request: InitProducerIdRequest) -> InitProducerIdResponse:
    if request.transactional_id is None:
        producer_id, producer_epoch = await context.broker.allocate_producer_id()
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=producer_epoch)
    if (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        return _refused(ErrorCode.INVALID_REQUEST)
    expected = None
    if request.producer_id != _NONE:
        expected = ProducerIdentity(request.producer_id, request.producer_epoch)
    try:
        await ensure_transactions_topic(context.broker)
        told = await context.broker.transactions.init_producer_id(
            request.transactional_id, request.transaction_timeout_ms, expected
        )
    except MainstemError as error:
        return _refused(producer_error_code(error, knows_fenced=context.version >= FIRST_WITH_FENCED))
    return InitProducerIdResponse(producer_id=told.producer_id, producer_epoch=told.epoch)


def _refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=_NONE, producer_epoch=_NONE)


def refuse(request: InitProducerIdRequest, code: ErrorCode, message: str) -> InitProducerIdResponse:  # noqa: ARG001
    return _refused(code)


HANDLER: Final = Handler(key=22, min_version=0, max_version=5, handle=handle, refuse=refuse)
