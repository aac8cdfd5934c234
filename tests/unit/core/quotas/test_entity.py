from __future__ import annotations

import math

import pytest

from mainstem.core.errors import InvalidRequest
from mainstem.core.quotas.entity import LIMITS, QuotaEntity, check_limit, checked_entity

USER = checked_entity([("user", "alice")])
ADDRESS = checked_entity([("ip", "127.0.0.1")])


def test_the_order_in_which_an_entity_is_named_does_not_matter() -> None:
    assert checked_entity([("client-id", "c"), ("user", "u")]) == checked_entity(
        [("user", "u"), ("client-id", "c")]
    )


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [("group", "g")],
        [("user", "")],
        [("user", "a"), ("user", "b")],
        [("ip", "127.0.0.1"), ("user", "a")],
        [("ip", "localhost")],
        [("ip", "300.0.0.1")],
        [("user", "x" * 40_000)],
    ],
)
def test_an_entity_that_cannot_be_is_refused(parts: list[tuple[str, str | None]]) -> None:
    with pytest.raises(InvalidRequest):
        checked_entity(parts)


def test_addresses_have_one_form() -> None:
    assert checked_entity([("ip", "0:0:0:0:0:0:0:1")]) == checked_entity([("ip", "::1")])


def test_the_default_is_a_name() -> None:
    assert str(checked_entity([("user", None), ("client-id", "c")])) == "user <default>, client-id c"
    assert checked_entity([("ip", None)]).is_address


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("key", [key for key, rule in LIMITS.items() if not rule.is_of_addresses])
def test_a_limit_of_nothing_is_refused(key: str, value: float) -> None:
    with pytest.raises(InvalidRequest, match=key):
        check_limit(USER, key, value)


def test_rates_of_bytes_are_whole() -> None:
    assert check_limit(USER, "producer_byte_rate", 1024.0000001) == 1024
    with pytest.raises(InvalidRequest, match="whole"):
        check_limit(USER, "producer_byte_rate", 1.5)
    with pytest.raises(InvalidRequest, match="whole"):
        check_limit(USER, "consumer_byte_rate", 1e30)
    assert check_limit(USER, "request_percentage", 0.5) == 0.5


def test_an_address_may_be_refused_altogether() -> None:
    assert check_limit(ADDRESS, "connection_creation_rate", 0) == 0


@pytest.mark.parametrize(
    ("entity", "key"),
    [(USER, "connection_creation_rate"), (ADDRESS, "producer_byte_rate"), (USER, "SCRAM-SHA-256")],
)
def test_each_kind_of_entity_has_its_own_limits(entity: QuotaEntity, key: str) -> None:
    with pytest.raises(InvalidRequest, match=key):
        check_limit(entity, key, 10)
