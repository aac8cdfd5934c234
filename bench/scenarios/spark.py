"""Our Spark source beside Spark's own Kafka connector, both on our broker: here the second column is the
connector, as it comes or tuned.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import msgspec

from bench.clients.spark_reader import SparkJob
from bench.load import PROJECT, ClientFailed
from bench.scenario import Figure, Pace, Sample, Scenario, ratio_at_least
from bench.scenarios.raw import NAMES
from bench.sides import MAINSTEM, Contestant
from bench.stored_topics import PARTITIONS, QUICK_STORED_BYTES, STORED_BYTES
from bench.topics import fill, make_topic

TIMEOUT_S = 600
READS = 3
# What made the connector fastest on this kind of machine.
TUNED = {
    "kafka.receive.buffer.bytes": str(4 << 20),
    "kafka.max.partition.fetch.bytes": str(4 << 20),
    "kafka.fetch.max.bytes": str(100 << 20),
    "kafka.max.poll.records": "20000",
}
ROWS = "rows"


@dataclass(frozen=True)
class BatchRead(Scenario):
    """All columns of a topic into nowhere."""

    record_bytes: int
    is_tuned: bool
    goal: float
    has_warm_up = False  # each session makes its own
    rounds_at_most = 2

    @property
    def figures(self) -> tuple[Figure, ...]:  # type: ignore[override]
        return (Figure(ROWS, "rows/s", ratio_at_least(self.goal)),)

    @property
    def name(self) -> str:
        return f"spark-read-{NAMES[self.record_bytes]}-{'tuned' if self.is_tuned else 'default'}"

    @property
    def title(self) -> str:
        rival = "spark-sql-kafka, tuned" if self.is_tuned else "spark-sql-kafka"
        return f"Spark batch read, {self.record_bytes} B, beside {rival}"

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        is_ours = contestant.side is MAINSTEM
        ours = contestant if is_ours else Contestant(MAINSTEM, contestant.home / "spark")
        with ours.fresh() as broker:
            broker.start()
            least_bytes = QUICK_STORED_BYTES if pace.is_quick else STORED_BYTES
            stored = fill(broker, make_topic(broker, PARTITIONS), self.record_bytes, least_bytes)
            job = SparkJob(
                source="mainstem" if is_ours else "kafka",
                bootstrap=broker.bootstrap,
                topic=stored.topic.name,
                options=TUNED if self.is_tuned and not is_ours else {},
                times=1 if pace.is_quick else READS,
            )
            return Sample({ROWS: stored.messages / median(_run(job))})


def _run(job: SparkJob) -> list[float]:
    command = [sys.executable, "-m", "bench.clients.spark_reader", msgspec.json.encode(job).decode()]
    done = subprocess.run(
        command, cwd=PROJECT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        raise ClientFailed(done.stderr[-2000:])
    seconds: list[float] = json.loads(done.stdout.splitlines()[-1])
    return seconds


def scenarios() -> Iterator[Scenario]:
    yield BatchRead(100, is_tuned=False, goal=3.0)
    yield BatchRead(100, is_tuned=True, goal=2.0)
    yield BatchRead(1024, is_tuned=False, goal=2.0)
    yield BatchRead(1024, is_tuned=True, goal=1.4)
