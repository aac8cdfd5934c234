"""Begins log-ins: the mechanisms that there are, over the users of now, with counters of how they went."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from mainstem.core.identity.conversation import Conversation
from mainstem.core.identity.credentials import SCRAM_MECHANISMS, UserCredentials
from mainstem.core.identity.failed_logins import FailedLogins
from mainstem.core.identity.plain import PasswordChecks, PlainConversation
from mainstem.core.identity.scram import ScramConversation
from mainstem.core.identity.stand_ins import StandIns

_NONCE_BYTES: Final = 24
_SECRET_BYTES: Final = 32

RandomBytes = Callable[[int], bytes]


class TokenConversations(Protocol):
    """What a listener that takes tokens begins a log-in with."""

    def begin(self) -> Conversation: ...


class LoginMeters:
    """Plain numbers, by mechanism."""

    __slots__ = ("expired", "failed", "succeeded", "too_slow")

    def __init__(self) -> None:
        self.succeeded: dict[str, int] = {}
        self.failed: dict[str, int] = {}
        self.too_slow = 0  # connections that did not log in in time
        self.expired = 0  # connections closed because their log-in had run out


class Authenticator:
    """One for all listeners of a node."""

    def __init__(
        self,
        users: Callable[[], Mapping[str, UserCredentials]],
        random_bytes: RandomBytes,
        failed_delay_ms: int,
    ) -> None:
        self.meters = LoginMeters()
        self.failures = FailedLogins(failed_delay_ms)
        self._users = users
        self._random_bytes = random_bytes
        self._stand_ins = StandIns(users, random_bytes(_SECRET_BYTES))
        self._password_checks = PasswordChecks()

    def begin(self, mechanism: str, tokens: TokenConversations | None) -> Conversation:
        scram = SCRAM_MECHANISMS.get(mechanism)
        if scram is not None:
            nonce = base64.b64encode(self._random_bytes(_NONCE_BYTES)).decode("ascii")
            return ScramConversation(scram, self._find, nonce, self._stand_ins)
        if mechanism == "PLAIN":
            return PlainConversation(self._find, self._password_checks, self._stand_ins)
        assert tokens is not None, "the configuration refuses OAUTHBEARER without keys"
        return tokens.begin()

    def _find(self, user: str) -> UserCredentials | None:
        return self._users().get(user)
