"""SaslHandshake: the client names the mechanism that it wants to log in by."""

from __future__ import annotations

from typing import Final

from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


async def handle(context: RequestContext, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    if context.login is None:  # nobody logs in on this listener
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    return context.login.choose(request.mechanism, context.version)


HANDLER: Final = Handler(
    key=17,
    min_version=0,
    max_version=1,
    handle=handle,
    remarks="SCRAM-SHA-256, SCRAM-SHA-512, PLAIN and OAUTHBEARER; no GSSAPI (Kerberos).",
)
