"""Which quotas a client asks for: by type of entity, each exactly, by default, or by any name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from mainstem.core.errors import InvalidRequest, UnsupportedQuotaEntity
from mainstem.core.quotas.entity import ENTITY_TYPES, IP, QuotaEntity

EXACT: Final = 0  # this name
DEFAULT_ONLY: Final = 1  # the default entity
ANY: Final = 2  # any name, and the default


class FilterPart(NamedTuple):
    kind: str
    match: int
    name: str | None = None


def check_filter(parts: Sequence[FilterPart]) -> None:
    seen: set[str] = set()
    for kind, match, name in parts:
        if not kind:
            raise InvalidRequest("a part of the filter names no type of entity")
        if kind in seen:
            raise InvalidRequest(f"the filter names {kind} twice")
        if kind not in ENTITY_TYPES:
            raise UnsupportedQuotaEntity(
                f"there are no quotas of {kind!r}; there are of {', '.join(ENTITY_TYPES)}"
            )
        if match not in (EXACT, DEFAULT_ONLY, ANY):
            raise InvalidRequest(f"a filter matches by 0, 1 or 2, not by {match}")
        if (name is not None) != (match == EXACT):
            raise InvalidRequest(f"an exact match of {kind} needs a name, and only that has one")
        seen.add(kind)
    if IP in seen and len(seen) > 1:
        raise InvalidRequest("a filter for ip cannot name user or client-id too: no quota has both")


def matching(
    quotas: Mapping[QuotaEntity, Mapping[str, float]], parts: Sequence[FilterPart], *, strict: bool
) -> Iterator[tuple[QuotaEntity, Mapping[str, float]]]:
    """`strict`: entities that have other parts, too, are left out."""
    for entity, limits in quotas.items():
        names = entity.names
        if strict and len(names) != len(parts):
            continue
        if all(_matches(names, part) for part in parts):
            yield entity, limits


def _matches(names: Mapping[str, str | None], part: FilterPart) -> bool:
    if part.kind not in names:
        return False
    if part.match == ANY:
        return True
    return names[part.kind] == part.name
