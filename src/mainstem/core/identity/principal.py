"""Who a connection speaks for."""

from __future__ import annotations

from typing import Final, NamedTuple


class Principal(NamedTuple):
    """A user as access rules name it, `User:alice`."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


ANONYMOUS: Final = Principal("User", "ANONYMOUS")
