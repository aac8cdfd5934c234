"""From produce() in one process to poll() in another, at a fixed rate that is far below what the broker can
do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.clients import paced_consumer, paced_producer
from bench.load import run_load
from bench.scenario import Figure, Pace, Sample, Scenario, ratio_at_most
from bench.sides import Contestant
from bench.topics import passing_topic

RECORD_BYTES = 1024
UNMEASURED_S = 1.0


@dataclass(frozen=True)
class EndToEnd(Scenario):
    per_second: int
    partitions: int
    figures = (
        Figure("p50", "ms"),
        Figure("p99", "ms", ratio_at_most(0.5)),
        Figure("broker CPU", "cores", ratio_at_most(1.0)),
    )

    @property
    def name(self) -> str:
        return f"latency-{self.per_second}-{self.partitions}p"

    @property
    def title(self) -> str:
        return f"end to end, 1 KB at {self.per_second:,}/s, {self.partitions} partition(s)"

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        seconds = pace.seconds + UNMEASURED_S
        with contestant.turn() as broker, passing_topic(broker, self.partitions) as topic:
            listener = paced_consumer.PacedConsumerJob(
                bootstrap=broker.bootstrap,
                topic=topic.name,
                partition_count=self.partitions,
                messages=int(self.per_second * seconds),
                unmeasured=int(self.per_second * UNMEASURED_S),
            )
            sender = paced_producer.PacedProducerJob(
                bootstrap=broker.bootstrap,
                topic=topic.name,
                partition_count=self.partitions,
                record_bytes=RECORD_BYTES,
                per_second=self.per_second,
                seconds=seconds,
            )
            outcome = run_load(broker.pid, [(paced_consumer, listener), (paced_producer, sender)])
        usage = outcome.usage
        return Sample({**outcome.reports[0].latencies_ms, "broker CPU": usage.broker.cores}, usage)


def scenarios() -> Iterator[Scenario]:
    for per_second in (1_000, 10_000):
        for partitions in (1, 6):
            yield EndToEnd(per_second, partitions)
