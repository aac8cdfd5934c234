"""A log-in as a conversation: what the client says, what it is answered, and at its end who it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from mainstem.core.identity.credentials import UserCredentials
from mainstem.core.identity.principal import Principal


class Step(NamedTuple):
    answer: bytes
    principal: Principal | None = None  # set in the last step of a log-in that succeeds
    expires_at_ms: int | None = None  # of what it rests on, since 1970; None: it does not expire


class Conversation(Protocol):
    """One log-in by one mechanism."""

    user: str | None  # whom the client named, once it has: for the log, and not to be believed

    async def respond(self, message: bytes) -> Step:
        """Raises `LoginFailed`, whose text the client may read; nothing may be said after that."""
        ...


FindUser = Callable[[str], UserCredentials | None]
