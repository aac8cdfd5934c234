"""How the clients of a listener come in, and as whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mainstem.core.identity.principal_mapping import PrincipalMapping


@dataclass(frozen=True, slots=True)
class ListenerAccess:
    mapping: PrincipalMapping | None = None  # of certificates, where clients may show one


OPEN: Final = ListenerAccess()
