"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), the server's side.

    client-first   n,,n=alice,r=<client nonce>
    server-first   r=<client nonce><server nonce>,s=<salt>,i=<iterations>
    client-final   c=biws,r=<both nonces>,p=<proof>
    server-final   v=<signature>

    start --client-first--> salted --client-final--> done
      any message that is not the one due, or a proof that does not fit: failed, for good

A user that does not exist gets a salt too, and fails at the proof as a wrong password does. Channel binding
is not offered. Extensions of client-first are passed over, but for Kafka's `tokenauth`: there are no
delegation tokens.
"""

from __future__ import annotations

import base64
import binascii
import enum
import hmac
import re
from typing import Final, NamedTuple

from mainstem.core.identity.conversation import FindUser, Step
from mainstem.core.identity.credentials import (
    ScramCredential,
    ScramMechanism,
    keyed,
    stored_key_of,
)
from mainstem.core.identity.errors import LoginFailed
from mainstem.core.identity.principal import Principal
from mainstem.core.identity.stand_ins import StandIns

MAX_MESSAGE_BYTES: Final = 16_384
_SASL_NAME: Final = r"(?:[^,=\x00]|=2C|=3D)+"
_NONCE: Final = r"[\x21-\x2B\x2D-\x7E]+"
_CLIENT_FIRST: Final = re.compile(
    rf"(?P<header>(?P<binding>[ny]|p=[^,]*),(?:a=(?P<authzid>{_SASL_NAME}))?,)"
    rf"(?P<bare>(?P<reserved>m=[^,]*,)?n=(?P<user>{_SASL_NAME}),r=(?P<nonce>{_NONCE})(?P<extensions>(?:,[^,]+)*))\Z"
)
_CLIENT_FINAL: Final = re.compile(
    rf"(?P<unproved>c=(?P<binding>[A-Za-z0-9+/=]+),r=(?P<nonce>{_NONCE})(?:,(?!p=)[^,]+)*)"
    r",p=(?P<proof>[A-Za-z0-9+/=]+)\Z"
)


class ClientFirst(NamedTuple):
    header: str  # what comes before `bare`; channel binding repeats it
    bare: str
    user: str
    nonce: str
    authzid: str | None
    extensions: tuple[str, ...]


class ClientFinal(NamedTuple):
    unproved: str
    binding: bytes
    nonce: str
    proof: bytes


class _State(enum.Enum):
    START = "start"
    SALTED = "salted"
    ENDED = "ended"


def parse_client_first(message: bytes) -> ClientFirst:
    match = _CLIENT_FIRST.match(_text(message))
    if match is None or match["reserved"]:
        raise LoginFailed("the first message of the log-in is not SCRAM")
    if match["binding"].startswith("p="):
        raise LoginFailed("channel binding is not offered")
    authzid = match["authzid"]
    return ClientFirst(
        match["header"],
        match["bare"],
        _plain_name(match["user"]),
        match["nonce"],
        None if authzid is None else _plain_name(authzid),
        tuple(match["extensions"].split(",")[1:]),
    )


def parse_client_final(message: bytes) -> ClientFinal:
    match = _CLIENT_FINAL.match(_text(message))
    if match is None:
        raise LoginFailed("the last message of the log-in is not SCRAM")
    return ClientFinal(
        match["unproved"], _from_base64(match["binding"]), match["nonce"], _from_base64(match["proof"])
    )


class ScramConversation:
    def __init__(
        self, mechanism: ScramMechanism, find_user: FindUser, nonce: str, stand_ins: StandIns
    ) -> None:
        """`nonce` is ours, never used before."""
        self.user: str | None = None
        self._mechanism = mechanism
        self._find_user = find_user
        self._nonce = nonce
        self._stand_ins = stand_ins
        self._state = _State.START
        self._credential: ScramCredential | None = None
        self._is_known = False
        self._first: ClientFirst | None = None
        self._server_first = ""

    async def respond(self, message: bytes) -> Step:
        state, self._state = self._state, _State.ENDED  # until this message has proved good
        if len(message) > MAX_MESSAGE_BYTES:
            raise LoginFailed("the message is too long for a log-in")
        if state is _State.START:
            return self._salt(message)
        if state is _State.SALTED:
            return self._prove(message)
        raise LoginFailed("the log-in has ended")

    def _salt(self, message: bytes) -> Step:
        first = parse_client_first(message)
        self.user = first.user
        if first.authzid is not None and first.authzid != first.user:
            raise LoginFailed("a user can log in for itself only")
        if any(extension.partition("=")[0] == "tokenauth" for extension in first.extensions):
            raise LoginFailed("there are no delegation tokens here")
        credentials = self._find_user(first.user) or {}
        found = credentials.get(self._mechanism.name)
        self._is_known = found is not None
        self._credential = found or self._stand_ins.of_mechanism(self._mechanism, first.user)
        self._first = first
        self._nonce = first.nonce + self._nonce
        salt = base64.b64encode(self._credential.salt).decode("ascii")
        self._server_first = f"r={self._nonce},s={salt},i={self._credential.iterations}"
        self._state = _State.SALTED
        return Step(self._server_first.encode())

    def _prove(self, message: bytes) -> Step:
        final = parse_client_final(message)
        first, credential, mechanism = self._first, self._credential, self._mechanism
        assert first is not None
        assert credential is not None
        if final.binding != first.header.encode() or final.nonce != self._nonce:
            raise LoginFailed("the last message of the log-in does not belong to the first")
        signed = f"{first.bare},{self._server_first},{final.unproved}".encode()
        signature = keyed(mechanism, credential.stored_key, signed)
        is_proved = False
        if len(final.proof) == len(signature):
            client_key = bytes(one ^ other for one, other in zip(final.proof, signature, strict=True))
            is_proved = hmac.compare_digest(stored_key_of(mechanism, client_key), credential.stored_key)
        if not (is_proved and self._is_known):
            raise LoginFailed(f"invalid credentials with SASL mechanism {mechanism.name}")
        answer = base64.b64encode(keyed(mechanism, credential.server_key, signed))
        return Step(b"v=" + answer, Principal("User", first.user))


def _text(message: bytes) -> str:
    try:
        return message.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LoginFailed("the message is not UTF-8") from error


def _plain_name(text: str) -> str:
    return text.replace("=2C", ",").replace("=3D", "=")


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise LoginFailed("the message holds no base64 where it must") from error
