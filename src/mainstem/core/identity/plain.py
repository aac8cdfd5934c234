"""PLAIN (RFC 4616): one message with user and password, which is why it belongs behind TLS.

The password is salted as its user's stored credential was and compared with that, in a thread: salting
takes milliseconds on purpose. A user that does not exist has one salted too, so that the answer takes as
long. How many are salted at a time is bounded by who makes these conversations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from mainstem.core.identity.conversation import FindUser, Step
from mainstem.core.identity.credentials import (
    ScramCredential,
    ScramMechanism,
    password_matches,
)
from mainstem.core.identity.errors import LoginFailed
from mainstem.core.identity.principal import Principal
from mainstem.core.identity.stand_ins import StandIns, strongest

MAX_MESSAGE_BYTES: Final = 4096

Check = Callable[[ScramMechanism, ScramCredential, str], Awaitable[bool]]


class PlainConversation:
    def __init__(self, find_user: FindUser, check: Check, stand_ins: StandIns) -> None:
        self.user: str | None = None
        self._find_user = find_user
        self._check = check
        self._stand_ins = stand_ins

    async def respond(self, message: bytes) -> Step:
        authzid, user, password = _parse(message)
        self.user = user
        if authzid not in ("", user):
            raise LoginFailed("a user can log in for itself only")
        mechanism, credential, is_known = self._credential(user)
        matches = await self._check(mechanism, credential, password)
        if not (matches and is_known):
            raise LoginFailed("Invalid username or password")
        return Step(b"", Principal("User", user))

    def _credential(self, user: str) -> tuple[ScramMechanism, ScramCredential, bool]:
        credentials = self._find_user(user) or {}
        mechanism = strongest(credentials)
        if mechanism is not None:
            return mechanism, credentials[mechanism.name], True
        return *self._stand_ins.of_any(user), False


def _parse(message: bytes) -> tuple[str, str, str]:
    if len(message) > MAX_MESSAGE_BYTES:
        raise LoginFailed("the message is too long for a log-in")
    try:
        parts = message.decode("utf-8").split("\0")
    except UnicodeDecodeError as error:
        raise LoginFailed("the message is not UTF-8") from error
    if len(parts) != 3 or not parts[1] or not parts[2]:
        raise LoginFailed("the message is not that of PLAIN: a user and a password")
    return parts[0], parts[1], parts[2]


class PasswordChecks:
    """Salts passwords in threads, a few at a time: a crowd that guesses must not take all of them."""

    def __init__(self, most_at_a_time: int = 2) -> None:
        self._places = asyncio.Semaphore(most_at_a_time)

    async def __call__(self, mechanism: ScramMechanism, credential: ScramCredential, password: str) -> bool:
        async with self._places:
            return await asyncio.to_thread(password_matches, mechanism, credential, password)
