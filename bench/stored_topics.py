"""Topics that are written once per side and read by many scenarios."""

from __future__ import annotations

import os

from bench.sides import Broker, Contestant
from bench.topics import Stored, fill, make_topic

PARTITIONS = 6
STORED_BYTES = 1_200_000_000
QUICK_STORED_BYTES = 200_000_000


class StoredTopics:
    """By side and size of record. Filled and flushed outside of every measurement."""

    def __init__(self) -> None:
        self._stored: dict[tuple[str, int], Stored] = {}

    def get(self, contestant: Contestant, broker: Broker, record_bytes: int, *, is_quick: bool) -> Stored:
        key = contestant.name, record_bytes
        if key not in self._stored:
            least_bytes = QUICK_STORED_BYTES if is_quick else STORED_BYTES
            self._stored[key] = fill(broker, make_topic(broker, PARTITIONS), record_bytes, least_bytes)
            os.sync()
        return self._stored[key]
