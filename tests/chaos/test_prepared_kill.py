"""Prepared transactions and their decisions on a real broker that is killed at every step."""

from __future__ import annotations

import random
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest
from confluent_kafka.admin import AdminClient
from tests.support.broker_process import BrokerProcess
from tests.support.confluent import create_topic, read_topic
from tests.support.deadline import eventually

from mainstem.client.addresses import parse_addresses
from mainstem.client.cluster import ClusterClient
from mainstem.client.transactions import (
    Decision,
    TransactionalProducer,
    decide,
    describe_writer,
    list_transactions,
)
from mainstem.model.errors import MainstemError
from mainstem.model.records import NewRecord

T = TypeVar("T")

STEPS = ("write", "prepare", "between", "decide", "decided", "again")
ROUNDS = 3  # of every step
TASKS = 3
OPTIONS = {
    "transaction.state.log.num.partitions": "3",
    "offsets.topic.num.partitions": "3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
}


class Driver:
    """Works as a sink does: each number has tasks, which prepare, and a decision that lists them."""

    def __init__(self, broker: BrokerProcess, chance: random.Random) -> None:
        self.broker = broker
        self.kills = 0
        self._chance = chance

    def kill_during(self, work: Callable[[], T]) -> T | None:
        """What it gave, or None where the broker died before it was told."""

        def strike() -> None:
            self.broker.kill()

        killer = threading.Timer(self._chance.uniform(0, 0.01), strike)
        killer.start()
        try:
            return work()
        except MainstemError:
            return None
        finally:
            killer.join()
            self.kills += 1
            self.broker.start()

    def kill(self) -> None:
        self.kills += 1
        self.broker.kill()
        self.broker.start()

    def cluster(self) -> ClusterClient:
        return ClusterClient(parse_addresses(self.broker.bootstrap), timeout_s=10)

    def task(self, number: int, partition: int, strike: str) -> str | None:
        """The id that it prepared under, or None: the broker died, and what it did is to be aborted."""
        transactional_id = f"{{w}}{number}.{partition}.{uuid.uuid4().hex[:6]}"

        def run() -> str:
            with self.cluster() as cluster:
                producer = TransactionalProducer(cluster, transactional_id, timeout_ms=5_000)
                try:
                    producer.begin()
                    producer.send(
                        "t", NewRecord(None, transactional_id.encode(), timestamp_ms=1), partition=partition
                    )
                    producer.flush()
                    if strike == "write":
                        self.kill()
                    assert producer.prepare(number)
                finally:
                    producer.close()
            return transactional_id

        if strike == "prepare":
            return self.kill_during(run)
        with suppress(MainstemError):
            return run()
        return None

    def decide(self, number: int, listed: list[str]) -> Decision:
        def ask() -> Decision:
            with self.cluster() as cluster:
                return decide(cluster, "w", number, listed)

        return ask()

    def work_on(self, number: int, strike: str) -> list[str]:
        """The ids whose records are to be seen in the end."""
        listed: list[str] = []
        for partition in range(TASKS):
            done = None
            while done is None:
                done = self.task(number, partition, strike if partition == 1 else "")
                strike = "" if strike in ("write", "prepare") and partition == 1 else strike
            listed.append(done)
        left_out = self.task(number, 0, "")
        assert left_out is not None
        if strike == "between":
            self.kill()
        decision = self.kill_during(lambda: self.decide(number, listed)) if strike == "decide" else None
        if decision is None:
            decision = self.decide(number, listed)
        assert (decision.number, decision.committed_ids) == (number, frozenset(listed))
        if strike == "decided":
            self.kill()
        if strike == "again":
            assert self.kill_during(lambda: self.decide(number, [])) in (None, decision)
            assert self.decide(number, []) == decision
        return listed


def test_a_decision_is_whole_whatever_dies(tmp_path: Path) -> None:
    run_kills(tmp_path, random.randrange(1 << 32), ROUNDS)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_the_same_for_long(tmp_path: Path, seed: int) -> None:
    run_kills(tmp_path, seed, 9)


def run_kills(tmp_path: Path, seed: int, rounds: int) -> None:
    driver = Driver(BrokerProcess(tmp_path / "data", OPTIONS), random.Random(seed))
    with driver.broker as broker:
        create_topic(AdminClient({"bootstrap.servers": broker.bootstrap}), "t", TASKS)
        wanted: list[bytes] = []
        for number, strike in enumerate(STEPS * rounds):
            wanted += [each.encode() for each in driver.work_on(number, strike)]
        assert driver.kills >= len(STEPS) * rounds

        def seen() -> Counter[bytes]:
            """A task that died before it prepared holds readers back until its time is over."""
            messages = read_topic(broker.bootstrap, "t", {"isolation.level": "read_committed"})
            return Counter(message.value() or b"" for message in messages)

        def is_over() -> bool:
            with driver.cluster() as cluster:
                waits = describe_writer(cluster, "w").prepared
                is_open = list_transactions(cluster, states=["Ongoing", "PrepareCommit", "PrepareAbort"])
                return not waits and not is_open

        eventually(is_over, "the markers of the last decision, and the end of what was left open")
        found = seen()
        assert not found - Counter(wanted), f"seed {seed}: seen, and not decided so"
        assert not Counter(wanted) - found, f"seed {seed}: decided, and not seen"
