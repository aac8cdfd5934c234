from __future__ import annotations

from mainstem.core.quotas.entity import checked_entity
from mainstem.core.quotas.precedence import Account, QuotaTable

RATE = "producer_byte_rate"
BOTH, OF_USER, OF_CLIENT = Account("u", "c"), Account("u"), Account(None, "c")
LEVELS = [
    (checked_entity([("user", "u"), ("client-id", "c")]), BOTH),
    (checked_entity([("user", "u"), ("client-id", None)]), BOTH),
    (checked_entity([("user", "u")]), OF_USER),
    (checked_entity([("user", None), ("client-id", "c")]), BOTH),
    (checked_entity([("user", None), ("client-id", None)]), BOTH),
    (checked_entity([("user", None)]), OF_USER),
    (checked_entity([("client-id", "c")]), OF_CLIENT),
    (checked_entity([("client-id", None)]), OF_CLIENT),
]


def test_the_nearest_quota_counts_and_says_who_shares_it() -> None:
    for first in range(len(LEVELS)):
        table = QuotaTable({entity: {RATE: 1.0 + n} for n, (entity, _) in enumerate(LEVELS) if n >= first})
        assert table.of_client(RATE, "u", "c") == (1.0 + first, LEVELS[first][1])
    assert QuotaTable({}).of_client(RATE, "u", "c") is None


def test_each_limit_is_looked_for_by_itself() -> None:
    table = QuotaTable({LEVELS[2][0]: {RATE: 5.0}, LEVELS[6][0]: {"consumer_byte_rate": 6.0}})
    assert table.of_client(RATE, "u", "c") == (5.0, OF_USER)
    assert table.of_client("consumer_byte_rate", "u", "c") == (6.0, OF_CLIENT)
    assert table.of_client("request_percentage", "u", "c") is None


def test_others_are_not_meant() -> None:
    table = QuotaTable({LEVELS[0][0]: {RATE: 5.0}, LEVELS[6][0]: {RATE: 6.0}})
    assert table.of_client(RATE, "v", "d") is None
    assert table.of_client(RATE, "v", "c") == (6.0, OF_CLIENT)


def test_an_address_goes_before_all_addresses() -> None:
    key = "connection_creation_rate"
    table = QuotaTable(
        {checked_entity([("ip", None)]): {key: 9.0}, checked_entity([("ip", "10.0.0.1")]): {key: 1.0}}
    )
    assert table.of_address(key, "10.0.0.1") == (1.0, Account(ip="10.0.0.1"))
    assert table.of_address(key, "10.0.0.2") == (9.0, Account(ip="10.0.0.2"))
