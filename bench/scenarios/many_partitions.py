"""Ten thousand partitions: what an idle one costs, how long they take to come up, and whether writing gets
slower.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.clients import raw_producer
from bench.load import Outcome, run_load
from bench.procfs import open_files, resident_bytes
from bench.scenario import MB, Figure, Pace, Sample, Scenario, at_least, at_most
from bench.scenarios.starting import seconds_to_ready
from bench.sides import Broker, Contestant
from bench.topics import Topic, make_topic, prove

PARTITIONS = 10_000
QUICK_PARTITIONS = 1_000
PARTITIONS_OF_A_TOPIC = 1_000
FEW = 10
BATCH_BYTES = 16 * 1024  # a Java producer's default
BATCHES_OF_A_REQUEST = 50
KB = 1_000


@dataclass(frozen=True)
class ManyPartitions(Scenario):
    """Ten topics of a thousand partitions on a broker that has just started."""

    name = "partitions-10000"
    title = "10,000 partitions"
    has_warm_up = False
    rounds_at_most = 1
    figures = (
        Figure("clean start to ready", "s", at_most(5.0)),
        Figure("memory per idle partition", "KB", at_most(20)),
        Figure("open files, idle", ""),
        Figure("throughput over 10", "MB/s"),
        Figure("throughput over all", "MB/s"),
        Figure("over all / over 10", "", at_least(0.8)),
        Figure("open files, after the load", ""),
        Figure("resident, after the load", "MB"),
    )

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        count = QUICK_PARTITIONS if pace.is_quick else PARTITIONS
        with contestant.fresh() as broker:
            empty_bytes = _resident_when_empty(broker)
            many = [make_topic(broker, PARTITIONS_OF_A_TOPIC) for _ in range(count // PARTITIONS_OF_A_TOPIC)]
            broker.stop()
            ready_s = seconds_to_ready(broker, {topic.name: topic.partition_count for topic in many})
            idle = {
                "clean start to ready": ready_s,
                "memory per idle partition": (resident_bytes(broker.pid) - empty_bytes) / count / KB,
                "open files, idle": open_files(broker.pid),
            }
            few = [make_topic(broker, FEW)]
            write(broker, few, pace.seconds / 2)  # warm
            over_few = write(broker, few, pace.seconds)
            write(broker, many, 0)  # what a first append to a partition costs is not the question
            over_all = write(broker, many, pace.seconds)
            loaded = {
                "open files, after the load": open_files(broker.pid),
                "resident, after the load": resident_bytes(broker.pid) / MB,
            }
        return Sample({**idle, **_rates(over_few, over_all), **loaded}, over_all.usage)


def _resident_when_empty(broker: Broker) -> int:
    broker.start()
    make_topic(broker, 1)
    resident = resident_bytes(broker.pid)
    broker.stop()
    broker.start()
    return resident


def _rates(over_few: Outcome, over_all: Outcome) -> dict[str, float]:
    few, everything = (outcome.payload_bytes / outcome.seconds / MB for outcome in (over_few, over_all))
    return {
        "throughput over 10": few,
        "throughput over all": everything,
        "over all / over 10": everything / few,
    }


def write(broker: Broker, topics: Sequence[Topic], seconds: float) -> Outcome:
    """Requests of at most fifty batches that go through all partitions in turn, at least once."""
    requests = [
        {topic.name: topic.partitions[first : first + BATCHES_OF_A_REQUEST]}
        for topic in topics
        for first in range(0, topic.partition_count, BATCHES_OF_A_REQUEST)
    ]
    job = raw_producer.RawProducerJob(
        bootstrap=broker.bootstrap,
        requests=requests,
        record_bytes=1024,
        batch_bytes=BATCH_BYTES,
        seconds=seconds,
        least_requests=len(requests),
    )
    outcome = run_load(broker.pid, [(raw_producer, job)])
    prove(broker, topics, outcome.messages)
    return outcome


def scenarios() -> Iterator[Scenario]:
    yield ManyPartitions()
