"""What a coordinator's records begin with: two bytes, the kind in a key and the version in a value."""

from __future__ import annotations

from struct import Struct
from typing import Final

from mainstem.wire.errors import WireError

PREFIX: Final = Struct(">h")


def kind_of(key: bytes) -> int | None:
    """Nothing for a key that no coordinator has written."""
    if len(key) < PREFIX.size:
        return None
    kind: int = PREFIX.unpack_from(key)[0]
    return kind


def version_of(value: bytes | memoryview) -> int:
    if len(value) < PREFIX.size:
        raise WireError("a record's value without a version")
    version: int = PREFIX.unpack_from(value)[0]
    return version
