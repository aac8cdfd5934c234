"""Kafka's own performance tools. They are the limit, so the goal is to be no slower and to cost the machine
less.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench import java_load
from bench.scenario import Pace, Sample, Scenario, load_figures, ratio_at_least, throughput
from bench.scenarios.raw import NAMES
from bench.sides import Contestant
from bench.stored_topics import PARTITIONS, StoredTopics
from bench.topics import passing_topic, prove

# Some four seconds of a warm JVM.
MESSAGES = {100: 3_000_000, 1024: 800_000}
QUICK_SHARE = 5
MANY_BYTES = 1_000_000_000


@dataclass(frozen=True)
class Produce(Scenario):
    record_bytes: int
    acks: str
    compression: str
    has_warm_up = False  # of its own
    figures = load_figures(in_megabytes=False, goal=ratio_at_least(1.0))

    @property
    def name(self) -> str:
        return f"produce-java-{NAMES[self.record_bytes]}-{self.acks}-{self.compression}"

    @property
    def title(self) -> str:
        return f"Java producer tool, {self.record_bytes} B, acks={self.acks}, {self.compression}"

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        messages = MESSAGES[self.record_bytes] // (QUICK_SHARE if pace.is_quick else 1)
        with (
            contestant.turn() as broker,
            passing_topic(broker, PARTITIONS, bytes_to_come=MANY_BYTES) as topic,
        ):
            run = java_load.produce(
                broker.pid,
                broker.bootstrap,
                topic.name,
                self.record_bytes,
                messages,
                self.acks,
                self.compression,
            )
            prove(broker, [topic], messages)
            return throughput(run.outcome, run.rate)


@dataclass(frozen=True)
class Consume(Scenario):
    stored: StoredTopics
    record_bytes: int
    has_warm_up = False
    figures = load_figures(in_megabytes=False, goal=ratio_at_least(1.0))

    @property
    def name(self) -> str:
        return f"consume-java-{NAMES[self.record_bytes]}"

    @property
    def title(self) -> str:
        return f"Java consumer tool, {self.record_bytes} B"

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        with contestant.turn() as broker:
            stored = self.stored.get(contestant, broker, self.record_bytes, is_quick=pace.is_quick)
            run = java_load.consume(
                broker.pid, broker.bootstrap, stored.topic.name, self.record_bytes, stored.messages
            )
            return throughput(run.outcome, run.rate)


def scenarios(stored: StoredTopics) -> Iterator[Scenario]:
    for record_bytes in (100, 1024):
        for acks in ("1", "all"):
            for compression in ("none", "lz4"):
                yield Produce(record_bytes, acks, compression)
    for record_bytes in (100, 1024):
        yield Consume(stored, record_bytes)
