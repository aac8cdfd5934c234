"""SCRAM from the client's side: it shows that both sides know the password, without saying it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import Final

from mainstem.client.errors import LoginRefused

DIGESTS: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MAX_ITERATIONS: Final = 1_000_000  # a broker that asks for more wants to keep us busy
_GS2_HEADER: Final = "n,,"


class ScramLogin:
    """first -> (server's first) -> final -> (server's final) -> verify."""

    def __init__(self, mechanism: str, user: str, password: str, nonce: str | None = None) -> None:
        self._digest = DIGESTS[mechanism]
        self._password = password.encode()
        self._nonce = nonce or secrets.token_urlsafe(24)
        self._first_bare = f"n={_escaped(user)},r={self._nonce}"
        self._server_signature = b""

    def first(self) -> bytes:
        return (_GS2_HEADER + self._first_bare).encode()

    def final(self, server_first: bytes) -> bytes:
        fields = _fields(server_first)
        nonce, salt, iterations = fields.get("r", ""), fields.get("s", ""), fields.get("i", "")
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise LoginRefused("the broker's answer does not belong to our log-in")
        if not iterations.isdecimal() or not 1 <= int(iterations) <= MAX_ITERATIONS:
            raise LoginRefused(f"the broker asks for {iterations!r} iterations")
        salted = hashlib.pbkdf2_hmac(self._digest, self._password, _from_base64(salt), int(iterations))
        binding = base64.b64encode(_GS2_HEADER.encode()).decode("ascii")
        unproved = f"c={binding},r={nonce}"
        signed = f"{self._first_bare},{server_first.decode()},{unproved}".encode()
        client_key = self._keyed(salted, b"Client Key")
        signature = self._keyed(hashlib.new(self._digest, client_key).digest(), signed)
        self._server_signature = self._keyed(self._keyed(salted, b"Server Key"), signed)
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        return f"{unproved},p={base64.b64encode(proof).decode('ascii')}".encode()

    def verify(self, server_final: bytes) -> None:
        """Raises unless the broker knows the password's keys, too."""
        shown = _from_base64(_fields(server_final).get("v", ""))
        if not self._server_signature or not hmac.compare_digest(shown, self._server_signature):
            raise LoginRefused("the broker does not prove that it knows this user: is it the right one?")

    def _keyed(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._digest)


def _escaped(user: str) -> str:
    return user.replace("=", "=3D").replace(",", "=2C")


def _fields(message: bytes) -> dict[str, str]:
    text = message.decode("utf-8", "replace")
    return {part[:1]: part[2:] for part in text.split(",") if part[1:2] == "="}


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise LoginRefused("the broker's answer is not SCRAM") from error
