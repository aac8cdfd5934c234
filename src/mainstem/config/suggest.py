"""The cure for a name that does not exist."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from mainstem.config.errors import ConfigError

# Options that people bring from a Kafka broker and that have another name here.
_RENAMED = {
    "broker.id": "node.id",
    "listeners": "listener.kafka",
    "advertised.listeners": "advertised.kafka",
    "log.dir": "log.dirs",
}


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """The known names that someone who wrote `name` most likely meant, the best first."""
    renamed = _RENAMED.get(name)
    candidates = list(known)
    if renamed in candidates:
        return [renamed]
    return get_close_matches(name, candidates, n=3, cutoff=0.6)


def unknown_option(
    name: str, value: str | None, known: Collection[str], *, origin: str = "", shown_as: str | None = None
) -> ConfigError:
    names = close_names(name, known)
    cure = f"did you mean {' or '.join(names)}?" if names else "see: mainstem config list"
    return ConfigError(shown_as or name, value, "there is no such option", cure, origin)
