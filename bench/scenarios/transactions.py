"""Transactions: how many a second one producer commits, and what a reader pays for seeing only those."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.clients import confluent_consumer, transactional_producer
from bench.load import Outcome, run_load
from bench.scenario import MB, Figure, Pace, Sample, Scenario, at_least, ratio_at_least, ratio_at_most
from bench.sides import Broker, Contestant
from bench.topics import Topic, end_offsets, passing_topic, prove

RECORDS, RECORD_BYTES = 1_000, 100
STORED_TRANSACTIONS, QUICK_TRANSACTIONS = 2_000, 200
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Commit(Scenario):
    partitions: int
    figures = (
        Figure("commits", "1/s", ratio_at_least(1.5)),
        Figure("commit p99", "ms"),
        Figure("broker CPU per commit", "ms", ratio_at_most(1.0)),
    )

    @property
    def name(self) -> str:
        return f"transactions-{self.partitions}p"

    @property
    def title(self) -> str:
        return f"transactions of {RECORDS:,} x {RECORD_BYTES} B, {self.partitions} partition(s)"

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        with contestant.turn() as broker, passing_topic(broker, self.partitions) as topic:
            outcome = _write(broker, topic, seconds=pace.seconds)
            prove(broker, [topic], outcome.messages)
            return Sample(
                {
                    "commits": outcome.requests / outcome.seconds,
                    "commit p99": outcome.reports[0].latencies_ms["p99"],
                    "broker CPU per commit": outcome.usage.broker.cpu_s * 1e3 / outcome.requests,
                },
                outcome.usage,
            )


@dataclass(frozen=True)
class ReadCommitted(Scenario):
    """The same topic, all of it committed, read under both isolation levels in turns."""

    name = "read-committed"
    title = f"read_committed beside read_uncommitted, transactions of {RECORDS:,} x {RECORD_BYTES} B"
    figures = (
        Figure("read_uncommitted", "MB/s"),
        Figure("read_committed", "MB/s", ratio_at_least(1.0)),
        Figure("committed / uncommitted", "", at_least(0.95)),
    )

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        with contestant.turn() as broker, passing_topic(broker, 1) as topic:
            count = QUICK_TRANSACTIONS if pace.is_quick else STORED_TRANSACTIONS
            _write(broker, topic, seconds=PATIENCE_S, most=count)
            markers = sum(end_offsets(broker, topic.name).values()) // (RECORDS + 1)
            messages = markers * RECORDS
            rates: dict[str, list[float]] = {"read_uncommitted": [], "read_committed": []}
            for _ in range(3):
                for isolation, found in rates.items():
                    found.append(_read(broker, topic, messages, isolation))
        plain, committed = (sorted(found)[1] for found in rates.values())
        return Sample(
            {
                "read_uncommitted": plain,
                "read_committed": committed,
                "committed / uncommitted": committed / plain,
            }
        )


def _write(broker: Broker, topic: Topic, *, seconds: float, most: int = 1 << 62) -> Outcome:
    job = transactional_producer.TransactionalProducerJob(
        bootstrap=broker.bootstrap,
        topic=topic.name,
        partition_count=topic.partition_count,
        record_bytes=RECORD_BYTES,
        records=RECORDS,
        seconds=seconds,
        most_transactions=most,
    )
    return run_load(broker.pid, [(transactional_producer, job)])


def _read(broker: Broker, topic: Topic, messages: int, isolation: str) -> float:
    job = confluent_consumer.ConfluentConsumerJob(
        bootstrap=broker.bootstrap,
        topic=topic.name,
        partition_count=topic.partition_count,
        messages=messages,
        isolation=isolation,
    )
    outcome = run_load(broker.pid, [(confluent_consumer, job)])
    return outcome.payload_bytes / outcome.seconds / MB


def scenarios() -> Iterator[Scenario]:
    yield Commit(1)
    yield Commit(10)
    yield ReadCommitted()
