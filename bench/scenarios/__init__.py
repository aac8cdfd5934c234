"""Every scenario there is, in the order of the table."""

from __future__ import annotations

from bench.scenario import Scenario
from bench.scenarios import (
    acknowledged,
    compaction,
    confluent,
    connections,
    idle,
    java_tools,
    latency,
    many_partitions,
    raw,
    spark,
    starting,
    tls,
    transactions,
)
from bench.stored_topics import StoredTopics


def all_scenarios() -> list[Scenario]:
    stored = StoredTopics()
    return [
        *java_tools.scenarios(stored),
        *confluent.scenarios(stored),
        *raw.scenarios(stored),
        *latency.scenarios(),
        *idle.scenarios(),
        *starting.scenarios(),
        *connections.scenarios(),
        *many_partitions.scenarios(),
        *acknowledged.scenarios(),
        *transactions.scenarios(),
        *compaction.scenarios(),
        *tls.scenarios(),
        *spark.scenarios(),
    ]
