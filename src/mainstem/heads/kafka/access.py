"""How the clients of a listener come in, and as whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mainstem.core.identity.authenticator import Authenticator, TokenConversations
from mainstem.core.identity.principal_mapping import PrincipalMapping


@dataclass(frozen=True, slots=True)
class LoginRules:
    """Of a listener whose clients log in."""

    authenticator: Authenticator
    mechanisms: tuple[str, ...]
    max_request_bytes: int  # before the log-in
    timeout_ms: int  # for all of it
    most_unfinished: int  # connections that have not logged in yet
    max_reauth_ms: int = 0  # 0: a log-in is good for as long as the connection lasts
    tokens: TokenConversations | None = None


@dataclass(frozen=True, slots=True)
class ListenerAccess:
    mapping: PrincipalMapping | None = None  # of certificates, where clients may show one
    login: LoginRules | None = None


OPEN: Final = ListenerAccess()
