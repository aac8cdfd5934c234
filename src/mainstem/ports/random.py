"""Randomness as logic sees it."""

from __future__ import annotations

import uuid
from typing import Protocol


class Randomness(Protocol):
    def unique_id(self) -> str:
        """A name that nobody else has: the text of a random UUID."""
        ...


class SystemRandomness:
    def unique_id(self) -> str:
        return str(uuid.uuid4())
