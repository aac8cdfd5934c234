"""Ready-made requests over a raw socket: what the broker itself can do, with hardly a client in the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.clients import raw_fetcher, raw_producer
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
from bench.sides import Contestant
from bench.stored_topics import PARTITIONS, StoredTopics
from bench.topics import FILL_BATCH_BYTES, passing_topic, prove

BATCH_BYTES = 64 * 1024
# A round ends before the kernel begins to write dirty pages back and to slow down who makes more of them.
MOST_BYTES = 1_600_000_000
FETCH_BYTES = 1024 * 1024
NAMES = {100: "100b", 1024: "1kb"}


@dataclass(frozen=True)
class ProduceRaw(Scenario):
    """Six batches of 64 KB a request, four requests ahead of the answers."""

    record_bytes: int
    connections: int

    @property
    def name(self) -> str:
        return f"produce-raw-{NAMES[self.record_bytes]}-{self.connections}c"

    @property
    def title(self) -> str:
        return f"ready batches, {self.record_bytes} B records, {self.connections} connection(s)"

    figures = load_figures(in_megabytes=True, goal=ratio_at_least(1.0))

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        with (
            contestant.turn() as broker,
            passing_topic(broker, PARTITIONS, bytes_to_come=2 * MOST_BYTES) as topic,
        ):
            job = raw_producer.RawProducerJob(
                bootstrap=broker.bootstrap,
                requests=[{topic.name: topic.partitions}],
                record_bytes=self.record_bytes,
                batch_bytes=BATCH_BYTES,
                seconds=pace.seconds,
                most_bytes=MOST_BYTES // self.connections,
            )
            outcome = run_load(broker.pid, [(raw_producer, job)] * self.connections)
            prove(broker, [topic], outcome.messages)
            return throughput(outcome)


@dataclass(frozen=True)
class FetchRaw(Scenario):
    """A megabyte of each of six partitions a request, two requests ahead, from the page cache."""

    stored: StoredTopics
    name = "fetch-raw"
    title = "raw fetch, 1 MB a partition"
    figures = load_figures(in_megabytes=True, goal=ratio_at_least(0.9))

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        with contestant.turn() as broker:
            stored = self.stored.get(contestant, broker, 1024, is_quick=pace.is_quick)
            job = raw_fetcher.RawFetcherJob(
                bootstrap=broker.bootstrap,
                topic_id_hex=stored.topic.topic_id.hex(),
                partitions=stored.topic.partitions,
                end_offset=stored.least_end_offset,
                record_bytes=1024,
                batch_bytes=FILL_BATCH_BYTES,
                partition_max_bytes=FETCH_BYTES,
                seconds=pace.seconds,
            )
            return throughput(run_load(broker.pid, [(raw_fetcher, job)]))


@dataclass(frozen=True)
class OneAtATime(Scenario):
    """One record of 1 KB a request, the next one when the answer is there."""

    name = "one-at-a-time-raw"
    title = "one produce at a time, raw socket, 1 KB"
    figures = (
        Figure(MESSAGES, "req/s", ratio_at_least(2.0)),
        Figure("answer p50", "ms"),
        Figure("answer p99", "ms"),
        Figure(CPU_PER_MESSAGE, "µs", ratio_at_most(1.0)),
    )

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        with contestant.turn() as broker, passing_topic(broker, 1) as topic:
            job = raw_producer.RawProducerJob(
                bootstrap=broker.bootstrap,
                requests=[{topic.name: [0]}],
                record_bytes=1024,
                batch_bytes=0,
                seconds=pace.seconds,
                depth=1,
            )
            outcome = run_load(broker.pid, [(raw_producer, job)])
            prove(broker, [topic], outcome.messages)
            return with_answer_times(throughput(outcome), outcome.reports[0].latencies_ms)


def with_answer_times(sample: Sample, latencies_ms: dict[str, float]) -> Sample:
    times = {f"answer {share}": value for share, value in latencies_ms.items()}
    return Sample({**sample.values, **times}, sample.usage)


def scenarios(stored: StoredTopics) -> Iterator[Scenario]:
    for record_bytes in (100, 1024):
        for connections in (1, 3):
            yield ProduceRaw(record_bytes, connections)
    yield FetchRaw(stored)
    yield OneAtATime()
