"""InitProducerId: a number of its own for an idempotent producer, by which its repeats are known.

A producer that asks again, because its old number is not good any more, simply gets a new one.
"""

from __future__ import annotations

from typing import Final

from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

_NONE: Final = -1


async def handle(context: RequestContext, request: InitProducerIdRequest) -> InitProducerIdResponse:
    if request.transactional_id is None:
        producer_id, producer_epoch = await context.broker.allocate_producer_id()
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=producer_epoch)
    if not request.transactional_id:
        return _refused(ErrorCode.INVALID_REQUEST)
    # There are no transactions yet. This code is one that no client retries.
    return _refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def _refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=_NONE, producer_epoch=_NONE)


def refuse(request: InitProducerIdRequest, code: ErrorCode, message: str) -> InitProducerIdResponse:  # noqa: ARG001
    return _refused(code)


HANDLER: Final = Handler(
    key=22,
    min_version=0,
    max_version=5,
    handle=handle,
    refuse=refuse,
    remarks="For idempotent producers; transactional ones are refused: there are no transactions yet.",
)
