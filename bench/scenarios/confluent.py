"""confluent-kafka, the client that most Python programs use. Its own thread is the limit, so CPU per message
counts too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.clients import confluent_consumer, confluent_producer
from bench.load import run_load
from bench.scenario import (
    CPU_PER_MESSAGE,
    MESSAGES,
    Figure,
    Pace,
    Sample,
    Scenario,
    load_figures,
    ratio_at_least,
    ratio_at_most,
    throughput,
)
from bench.scenarios.raw import MOST_BYTES, NAMES, with_answer_times
from bench.sides import Contestant
from bench.stored_topics import PARTITIONS, StoredTopics
from bench.topics import passing_topic, prove


@dataclass(frozen=True)
class Produce(Scenario):
    record_bytes: int
    figures = load_figures(in_megabytes=False, goal=ratio_at_least(1.0))

    @property
    def name(self) -> str:
        return f"produce-confluent-{NAMES[self.record_bytes]}"

    @property
    def title(self) -> str:
        return f"confluent-kafka produce(), {self.record_bytes} B, acks=all"

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        with (
            contestant.turn() as broker,
            passing_topic(broker, PARTITIONS, bytes_to_come=MOST_BYTES) as topic,
        ):
            job = confluent_producer.ConfluentProducerJob(
                bootstrap=broker.bootstrap,
                topic=topic.name,
                record_bytes=self.record_bytes,
                seconds=pace.seconds,
                most_messages=MOST_BYTES // self.record_bytes,
            )
            outcome = run_load(broker.pid, [(confluent_producer, job)])
            prove(broker, [topic], outcome.messages)
            return throughput(outcome)


@dataclass(frozen=True)
class Consume(Scenario):
    stored: StoredTopics
    record_bytes: int
    figures = load_figures(in_megabytes=False, goal=ratio_at_least(1.0))

    @property
    def name(self) -> str:
        return f"consume-confluent-{NAMES[self.record_bytes]}"

    @property
    def title(self) -> str:
        return f"confluent-kafka consume(), {self.record_bytes} B"

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        with contestant.turn() as broker:
            stored = self.stored.get(contestant, broker, self.record_bytes, is_quick=pace.is_quick)
            job = confluent_consumer.ConfluentConsumerJob(
                bootstrap=broker.bootstrap,
                topic=stored.topic.name,
                partition_count=stored.topic.partition_count,
                messages=stored.messages,
                passes=1 if pace.is_quick or self.record_bytes < 1024 else 3,
            )
            return throughput(run_load(broker.pid, [(confluent_consumer, job)]))


@dataclass(frozen=True)
class Flush(Scenario):
    """produce() and flush() for each message, as programs do that must know."""

    name = "one-at-a-time-confluent"
    title = "one produce at a time, confluent flush(), 1 KB"
    figures = (
        Figure(MESSAGES, "req/s", ratio_at_least(2.0)),
        Figure("answer p99", "ms"),
        Figure(CPU_PER_MESSAGE, "µs", ratio_at_most(1.0)),
    )

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        with contestant.turn() as broker, passing_topic(broker, 1) as topic:
            job = confluent_producer.ConfluentProducerJob(
                bootstrap=broker.bootstrap,
                topic=topic.name,
                record_bytes=1024,
                seconds=pace.seconds,
                one_at_a_time=True,
            )
            outcome = run_load(broker.pid, [(confluent_producer, job)])
            prove(broker, [topic], outcome.messages)
            return with_answer_times(throughput(outcome), outcome.reports[0].latencies_ms)


def scenarios(stored: StoredTopics) -> Iterator[Scenario]:
    for record_bytes in (100, 1024):
        yield Produce(record_bytes)
    for record_bytes in (100, 1024):
        yield Consume(stored, record_bytes)
    yield Flush()
