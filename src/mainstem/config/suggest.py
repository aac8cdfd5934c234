"""The cure for a name that does not exist."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches

from mainstem.config.errors import ConfigError

# Options that people bring from a Kafka broker and that have another name here.
_RENAMED = {
    "broker.id": "node.id",
    "log.dir": "log.dirs",
    "ssl.keystore.certificate.chain": "ssl.keystore.location",
    "ssl.keystore.key": "ssl.keystore.key.location",
    "ssl.keystore.password": "ssl.key.password",
    "ssl.truststore.certificates": "ssl.truststore.location",
}


_SECRET = re.compile(r"pass|secret|token|key|jaas|credential", re.IGNORECASE)


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """The known names that someone who wrote `name` most likely meant, the best first."""
    renamed = _RENAMED.get(name)
    candidates = list(known)
    if renamed in candidates:
        return [renamed]
    return get_close_matches(name, candidates, n=3, cutoff=0.6)


def shown_value(name: str, value: str | None) -> str | None:
    """The value of a name that is not known, unless the name says that it is a secret."""
    return "(hidden)" if value is not None and _SECRET.search(name) else value


def unknown_option(
    name: str, value: str | None, known: Collection[str], *, origin: str = "", shown_as: str | None = None
) -> ConfigError:
    names = close_names(name, known)
    cure = f"did you mean {' or '.join(names)}?" if names else "see: mainstem config list"
    value = shown_value(name, value)
    return ConfigError(shown_as or name, value, "there is no such option", cure, origin)
