from __future__ import annotations

import pytest

from mainstem.core.errors import InvalidRequest, UnsupportedQuotaEntity
from mainstem.core.quotas.entity import QuotaEntity, checked_entity
from mainstem.core.quotas.filters import ANY, DEFAULT_ONLY, EXACT, FilterPart, check_filter, matching

NAMED = checked_entity([("user", "alice")])
DEFAULT = checked_entity([("user", None)])
BOTH = checked_entity([("user", "alice"), ("client-id", "c")])
CLIENT = checked_entity([("client-id", "c")])
ADDRESS = checked_entity([("ip", "127.0.0.1")])
ALL = {entity: {"x": 1.0} for entity in (NAMED, DEFAULT, BOTH, CLIENT, ADDRESS)}


def found(*parts: FilterPart, strict: bool = False) -> set[QuotaEntity]:
    check_filter(parts)
    return {entity for entity, _ in matching(ALL, parts, strict=strict)}


def test_no_part_finds_everything() -> None:
    assert found() == set(ALL)
    assert found(strict=True) == set()


def test_an_exact_part_finds_that_name() -> None:
    assert found(FilterPart("user", EXACT, "alice")) == {NAMED, BOTH}
    assert found(FilterPart("user", EXACT, "alice"), strict=True) == {NAMED}


def test_the_default_is_found_by_default_only() -> None:
    assert found(FilterPart("user", DEFAULT_ONLY)) == {DEFAULT}


def test_any_name_is_found_with_the_default() -> None:
    assert found(FilterPart("user", ANY)) == {NAMED, DEFAULT, BOTH}
    assert found(FilterPart("user", ANY), FilterPart("client-id", ANY)) == {BOTH}


@pytest.mark.parametrize(
    "parts",
    [
        [FilterPart("", ANY)],
        [FilterPart("user", ANY), FilterPart("user", ANY)],
        [FilterPart("user", EXACT)],
        [FilterPart("user", DEFAULT_ONLY, "alice")],
        [FilterPart("user", ANY, "alice")],
        [FilterPart("user", 3)],
        [FilterPart("ip", ANY), FilterPart("user", ANY)],
    ],
)
def test_a_filter_that_says_nothing_clear_is_refused(parts: list[FilterPart]) -> None:
    with pytest.raises(InvalidRequest):
        check_filter(parts)


def test_unknown_entities_are_unsupported() -> None:
    with pytest.raises(UnsupportedQuotaEntity):
        check_filter([FilterPart("team", ANY)])
