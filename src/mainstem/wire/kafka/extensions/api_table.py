"""APIs of our own, with keys that Kafka does not use. In the form of `wire/kafka/api_table.py`."""

from __future__ import annotations

FIRST_OWN_KEY = 10_000

EXTENSION_ROWS: tuple[tuple[int, str, str, int, int, int], ...] = (
    (10000, "PrepareTransaction", "prepare_transaction", 0, 0, 0),
    (10001, "DecideTransactions", "decide_transactions", 0, 0, 0),
    (10002, "DescribeTransactionWriters", "describe_transaction_writers", 0, 0, 0),
)
