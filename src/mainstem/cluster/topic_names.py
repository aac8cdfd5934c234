"""Which names a topic may have: Kafka's rules."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mainstem.core.errors import InvalidTopicName

MAX_NAME_LENGTH = 249  # a partition's directory is named name-number, within 255 bytes
INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
RESERVED_TOPIC = "__cluster_metadata"  # Kafka's own metadata log; a client must never make it

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    if not name:
        raise InvalidTopicName("a topic name must not be empty")
    if name in (".", ".."):
        raise InvalidTopicName(f"a topic cannot be named '{name}'")
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidTopicName(
            f"a topic name has at most {MAX_NAME_LENGTH} characters, '{name[:40]}...' has {len(name)}"
        )
    if not _LEGAL.fullmatch(name):
        raise InvalidTopicName(
            f"topic name {name!r} is illegal: it may hold ASCII letters, digits, '.', '_' and '-'"
        )


class CollisionIndex:
    """Finds names that differ only in '.' and '_', which count as the same in Kafka's metric names."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = names
        self._by_form: dict[str, str] | None = None  # made when first needed: most names have neither

    def collision(self, name: str) -> str | None:
        """Some other name that collides with `name`."""
        if "." not in name and "_" not in name:
            return None
        other = self._forms().get(name.replace(".", "_"))
        return None if other == name else other

    def add(self, name: str) -> None:
        if "." in name or "_" in name:
            self._forms()[name.replace(".", "_")] = name

    def _forms(self) -> dict[str, str]:
        if self._by_form is None:
            self._by_form = {
                name.replace(".", "_"): name for name in self._names if "." in name or "_" in name
            }
        return self._by_form
