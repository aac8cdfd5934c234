"""Logs a connection in, right after it was made."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from mainstem.client.errors import LoginRefused
from mainstem.client.scram import DIGESTS, ScramLogin
from mainstem.client.security import ClientSecurity
from mainstem.wire.kafka.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from mainstem.wire.kafka.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from mainstem.client.connection import Connection

_AGREED: Final = b"\x01"  # to the refusal of a token


def log_in(connection: Connection, security: ClientSecurity) -> int:
    """For how many milliseconds it is good; 0: for as long as the connection lasts."""
    shaken = connection.request(SaslHandshakeRequest(mechanism=security.mechanism), SaslHandshakeResponse)
    if shaken.error_code:
        offered = ", ".join(shaken.mechanisms) or "none"
        raise LoginRefused(f"the broker does not offer {security.mechanism}, but {offered}")

    def say(message: bytes) -> SaslAuthenticateResponse:
        answer = connection.request(SaslAuthenticateRequest(auth_bytes=message), SaslAuthenticateResponse)
        if answer.error_code:
            raise LoginRefused(answer.error_message or "the user or the password is wrong")
        return answer

    return _prove(say, security).session_lifetime_ms


def _prove(
    say: Callable[[bytes], SaslAuthenticateResponse], security: ClientSecurity
) -> SaslAuthenticateResponse:
    user, password = security.user or "", security.password or ""
    if security.mechanism in DIGESTS:
        scram = ScramLogin(security.mechanism, user, password)
        done = say(scram.final(say(scram.first()).auth_bytes))
        scram.verify(done.auth_bytes)
        return done
    if security.mechanism == "PLAIN":
        return say(f"\0{user}\0{password}".encode())
    done = say(f"n,,\x01auth=Bearer {security.token}\x01\x01".encode())
    if done.auth_bytes:  # why the token is refused
        say(_AGREED)
        raise LoginRefused("the broker refuses the token")
    return done
