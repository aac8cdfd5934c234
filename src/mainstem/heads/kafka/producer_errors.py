"""What the producer of a transaction is told, in words that its version of an API knows."""

from __future__ import annotations

from mainstem.core.errors import ProducerFenced
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.errors import error_code


def producer_error_code(error: BaseException, *, knows_fenced: bool) -> ErrorCode:
    """Before PRODUCER_FENCED there was one code for every old epoch."""
    if isinstance(error, ProducerFenced) and not knows_fenced:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error_code(error)
