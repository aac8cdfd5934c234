"""Acknowledged means on disk: what `acks.after=disk` costs against `page-cache`, with few partitions and
with many.

Kafka has nothing to compare with: it would flush each partition's file after each append.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.scenario import MB, Figure, Pace, Sample, Scenario, at_least
from bench.scenarios.many_partitions import write
from bench.sides import Broker, Contestant
from bench.topics import Topic, drop, make_topic

PARTITIONS_OF_A_TOPIC = 1_000


@dataclass(frozen=True)
class AcknowledgedOnDisk(Scenario):
    partitions: int
    is_ours_alone = True
    figures = (
        Figure("after page-cache", "MB/s"),
        Figure("after disk", "MB/s"),
        Figure("disk / page-cache", "", at_least(0.8)),
    )

    @property
    def name(self) -> str:
        return f"acks-after-disk-{self.partitions}p"

    @property
    def title(self) -> str:
        return f"acks.after=disk, {self.partitions:,} partitions"

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        with contestant.turn() as broker:
            page_cache = self._rate(broker, "page-cache", pace.seconds)
            disk = self._rate(broker, "disk", pace.seconds)
        values = {"after page-cache": page_cache, "after disk": disk, "disk / page-cache": disk / page_cache}
        return Sample(values)

    def _rate(self, broker: Broker, acks_after: str, seconds: float) -> float:
        topics = self._make(broker, acks_after)
        write(broker, topics, seconds / 4)
        outcome = write(broker, topics, seconds)
        drop(broker, [topic.name for topic in topics])
        return outcome.payload_bytes / outcome.seconds / MB

    def _make(self, broker: Broker, acks_after: str) -> list[Topic]:
        width = min(PARTITIONS_OF_A_TOPIC, self.partitions)
        return [
            make_topic(broker, width, {"acks.after": acks_after}) for _ in range(self.partitions // width)
        ]


def scenarios() -> Iterator[Scenario]:
    yield AcknowledgedOnDisk(10)
    yield AcknowledgedOnDisk(5_000)
