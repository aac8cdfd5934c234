"""Whom a quota is for, and what it may limit: Kafka's entities and keys, with its rules.

An entity is a user, a client id, both together, or an address. Each name may be the *default*, which stands
for everybody of that kind who has no quota under an own name.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from mainstem.core.errors import InvalidRequest

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
ENTITY_TYPES: Final = (USER, CLIENT_ID, IP)
DEFAULT: Final = None  # as a name: everybody who has none of their own

PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"

MAX_NAME_LENGTH: Final = 32_767  # what a string of the protocol can hold
_LARGEST_WHOLE: Final = 2**63 - 1


class LimitRule(NamedTuple):
    doc: str
    minimum: float
    is_whole: bool
    is_of_addresses: bool = False


LIMITS: Final[Mapping[str, LimitRule]] = MappingProxyType(
    {
        PRODUCER_BYTE_RATE: LimitRule("Bytes per second of produce requests.", 1, is_whole=True),
        CONSUMER_BYTE_RATE: LimitRule("Bytes per second of fetch responses.", 1, is_whole=True),
        REQUEST_PERCENTAGE: LimitRule(
            "Share of the time of the broker's loop, in percent of one core.", math.ulp(0.0), is_whole=False
        ),
        CONTROLLER_MUTATION_RATE: LimitRule(
            "Partitions per second that are created or deleted.", math.ulp(0.0), is_whole=False
        ),
        CONNECTION_CREATION_RATE: LimitRule(
            "New connections per second from one address.", 0, is_whole=True, is_of_addresses=True
        ),
    }
)


class QuotaEntity(NamedTuple):
    """The parts in the order of `ENTITY_TYPES`, each type at most once: equal entities are equal tuples."""

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, names: Mapping[str, str | None]) -> QuotaEntity:
        """For names that are known to be legal."""
        return cls(tuple((kind, names[kind]) for kind in ENTITY_TYPES if kind in names))

    @property
    def names(self) -> dict[str, str | None]:
        return dict(self.parts)

    @property
    def is_address(self) -> bool:
        return self.parts[0][0] == IP

    def __str__(self) -> str:
        return ", ".join(f"{kind} {'<default>' if name is None else name}" for kind, name in self.parts)


def checked_entity(parts: Iterable[tuple[str, str | None]]) -> QuotaEntity:
    """The entity that a client names; InvalidRequest where there can be none such."""
    names: dict[str, str | None] = {}
    for kind, name in parts:
        if kind not in ENTITY_TYPES:
            raise InvalidRequest(f"a quota is for {', '.join(ENTITY_TYPES)}, not for {kind!r}")
        if kind in names:
            raise InvalidRequest(f"the entity names {kind} twice")
        if name == "":
            raise InvalidRequest(f"an empty {kind} is nobody; null names the default")
        if name is not None and len(name) > MAX_NAME_LENGTH:
            raise InvalidRequest(f"a {kind} has at most {MAX_NAME_LENGTH} characters")
        names[kind] = name
    if not names:
        raise InvalidRequest("the entity of a quota must name a user, a client-id or an ip")
    if IP in names:
        if len(names) > 1:
            raise InvalidRequest("a quota of an ip cannot name a user or a client-id too")
        names[IP] = _address(names[IP])
    return QuotaEntity.of(names)


def _address(name: str | None) -> str | None:
    """In its one form. A host's name is refused: it may mean another address tomorrow."""
    if name is None:
        return None
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        raise InvalidRequest(f"{name!r} is not an IP address") from None


def check_limit(entity: QuotaEntity, key: str, value: float) -> float:
    """The value as it is kept; InvalidRequest where this entity cannot have that."""
    rule = check_key(entity, key)
    if not math.isfinite(value) or value < rule.minimum:
        least = (
            "greater than 0" if rule.minimum < 1 and not rule.is_of_addresses else f"{rule.minimum:g} or more"
        )
        raise InvalidRequest(f"{key} must be {least}, not {value:g}; remove the quota to have no limit")
    if rule.is_whole:
        whole = round(value)
        if abs(whole - value) > 1e-6 or whole > _LARGEST_WHOLE:
            raise InvalidRequest(f"{key} must be a whole number below 2^63, not {value!r}")
        return float(whole)
    return value


def check_key(entity: QuotaEntity, key: str) -> LimitRule:
    rule = LIMITS.get(key)
    if rule is None:
        raise InvalidRequest(f"there is no quota {key!r}; known are {', '.join(LIMITS)}")
    if rule.is_of_addresses != entity.is_address:
        proper = "an ip" if rule.is_of_addresses else "a user or a client-id"
        raise InvalidRequest(f"{key} is a quota of {proper}, not of {entity}")
    return rule
