"""OAUTHBEARER (RFC 7628): the client shows a signed token of an issuer that the broker trusts.

    start --good token--> done
    start --bad token--> refused: the reason is told as JSON, the client agrees with one byte, and it fails

A token is a JWT. Its signature is checked with a key of the issuer's JWKS and with the algorithm that the
key is for, never with one that the token names for itself alone; `exp` must be there and lie ahead, `nbf`
and `iat` must not, and issuer and audience must be those of the configuration where it names some. The
log-in is good until the token ends. A token is a secret: it is never logged, and neither is why a library
could not read it.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from mainstem.core.identity.conversation import Conversation, Step
from mainstem.core.identity.errors import LoginFailed
from mainstem.core.identity.key_set import KeySet
from mainstem.core.identity.principal import Principal
from mainstem.ports.clock import Clock

MAX_TOKEN_BYTES: Final = 64 * 1024
ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
)
_FIRST: Final = re.compile(
    r"n,(?:a=(?P<authzid>[^,]*))?,\x01(?P<pairs>(?:[A-Za-z]+=[\x20-\x7E\r\n\t]*\x01)*)\x01\Z"
)
_BEARER: Final = re.compile(r"[Bb]earer +([A-Za-z0-9._~+/=-]+)\Z")


@dataclass(frozen=True, slots=True)
class TokenRules:
    audiences: Sequence[str] = ()
    issuer: str | None = None
    clock_skew_s: int = 30
    user_claim: str = "sub"


@dataclass(frozen=True, slots=True)
class CheckedToken:
    user: str
    expires_at_ms: int


class _Refused(Exception):
    """Why a token is not good, in words that name nothing of it but claims."""


class TokenChecker:
    """Of a listener. `begin` makes the conversation of one log-in."""

    def __init__(self, keys: KeySet, rules: TokenRules, clock: Clock) -> None:
        self._keys = keys
        self._rules = rules
        self._clock = clock

    def begin(self) -> Conversation:
        return BearerConversation(self)

    async def check(self, token: str) -> CheckedToken:
        import jwt

        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError as error:
            raise _Refused("it is no signed JWT") from error
        algorithm, key_id = header.get("alg"), header.get("kid")
        if algorithm not in ALGORITHMS or not (key_id is None or isinstance(key_id, str)):
            raise _Refused("it is not signed with a public key's algorithm")
        key = await self._keys.find(key_id)
        if key is None:
            raise _Refused("it is signed with a key that is not known")
        if algorithm not in key.algorithms:
            raise _Refused("its algorithm is not that of its key")
        try:
            # Times are checked below, against the broker's own clock.
            claims = jwt.decode(
                token,
                key.key,
                algorithms=[algorithm],
                options={
                    "verify_aud": False,
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                    "verify_iss": False,
                    "verify_sub": False,
                },
            )
        except jwt.PyJWTError as error:
            raise _Refused("its signature is not good") from error
        return self._checked(claims)

    def _checked(self, claims: dict[str, Any]) -> CheckedToken:
        rules = self._rules
        now_s = self._clock.now_ms() / 1000
        expires_s = _time(claims, "exp")
        if expires_s is None:
            raise _Refused("it says no time when it ends (exp)")
        if expires_s + rules.clock_skew_s <= now_s:
            raise _Refused("it has expired")
        for name in ("nbf", "iat"):
            begins_s = _time(claims, name)
            if begins_s is not None and begins_s - rules.clock_skew_s > now_s:
                raise _Refused(f"it is not good yet ({name})")
        if rules.issuer is not None and claims.get("iss") != rules.issuer:
            raise _Refused("it is of another issuer (iss)")
        if rules.audiences and not set(rules.audiences) & set(_texts(claims.get("aud"))):
            raise _Refused("it is for another audience (aud)")
        user = claims.get(rules.user_claim)
        if not isinstance(user, str) or not user.strip():
            raise _Refused(f"it names no user ({rules.user_claim})")
        return CheckedToken(user, int((expires_s + rules.clock_skew_s) * 1000))


class _State(enum.Enum):
    START = "start"
    REFUSED = "refused"
    ENDED = "ended"


class BearerConversation:
    def __init__(self, checker: TokenChecker) -> None:
        self.user: str | None = None
        self._checker = checker
        self._state = _State.START
        self._reason = ""

    async def respond(self, message: bytes) -> Step:
        state, self._state = self._state, _State.ENDED
        if state is _State.REFUSED:
            raise LoginFailed(f"the token is refused: {self._reason}")
        if state is _State.ENDED:
            raise LoginFailed("the log-in has ended")
        authzid, token = parse_first(message)
        try:
            found = await self._checker.check(token)
            if authzid not in (None, "", found.user):
                raise _Refused("a user can log in for itself only")
        except _Refused as error:
            self._reason = str(error)
            self._state = _State.REFUSED
            return Step(json.dumps({"status": "invalid_token"}).encode())
        self.user = found.user
        return Step(b"", Principal("User", found.user), found.expires_at_ms)


def parse_first(message: bytes) -> tuple[str | None, str]:
    """Who is to be logged in, if it says, and the token."""
    if len(message) > MAX_TOKEN_BYTES:
        raise LoginFailed("the token is too long")
    try:
        match = _FIRST.match(message.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise LoginFailed("the message is not UTF-8") from error
    if match is None:
        raise LoginFailed("the first message of the log-in is not OAUTHBEARER")
    for pair in match["pairs"].split("\x01"):
        name, _, value = pair.partition("=")
        if name == "auth":
            bearer = _BEARER.match(value)
            if bearer is not None:
                return match["authzid"], bearer[1]
    raise LoginFailed("the first message of the log-in has no token")


def _time(claims: dict[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1 << 40:
        raise _Refused(f"its {name} is no time")
    return float(value)


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
