"""SaslAuthenticate: one message of the mechanism that SaslHandshake chose."""

from __future__ import annotations

from typing import Final

from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse


async def handle(context: RequestContext, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    if context.login is None:
        return SaslAuthenticateResponse(
            error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message="nobody logs in on this listener"
        )
    return await context.login.answer(request.auth_bytes)


HANDLER: Final = Handler(key=36, min_version=0, max_version=2, handle=handle)
