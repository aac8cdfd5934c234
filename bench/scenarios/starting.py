"""How long until a broker serves: on an empty directory, and after a kill -9 under load.

The clock runs from the start of the process to the first answer in which every partition has a leader.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench.clients import raw_producer
from bench.load import ClientFailed, run_load
from bench.scenario import Figure, Pace, Sample, Scenario, at_most
from bench.sides import Broker, Contestant, start_without_waiting
from bench.topics import Topic, end_offsets, make_topic, wait_until_served

PARTITIONS = 12
LOAD_SECONDS = 6.0


@dataclass(frozen=True)
class EmptyDirectory(Scenario):
    name = "start-empty"
    title = "start on an empty directory"
    figures = (Figure("ready after", "s", at_most(1.0)),)

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:  # noqa: ARG002
        with contestant.fresh() as broker:
            return Sample({"ready after": seconds_to_ready(broker, {})})


@dataclass(frozen=True)
class AfterKill(Scenario):
    """Three connections write ready batches to twelve partitions when the process is killed."""

    name = "start-after-kill"
    title = "start after kill -9 under load"
    has_warm_up = False
    rounds_at_most = 2
    figures = (Figure("ready after", "s", at_most(3.0)), Figure("log to look at", "MB"))

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        with contestant.fresh() as broker:
            broker.start()
            topic = make_topic(broker, PARTITIONS)
            record_bytes = 1024
            _kill_under_load(broker, topic, record_bytes, LOAD_SECONDS / (3 if pace.is_quick else 1))
            ready_s = seconds_to_ready(broker, {topic.name: PARTITIONS})
            held = sum(end_offsets(broker, topic.name).values())
            return Sample({"ready after": ready_s, "log to look at": held * record_bytes / 1e6})


def seconds_to_ready(broker: Broker, topics: dict[str, int]) -> float:
    started = time.monotonic()
    start_without_waiting(broker)
    wait_until_served(broker, topics)
    return time.monotonic() - started


def _kill_under_load(broker: Broker, topic: Topic, record_bytes: int, seconds: float) -> None:
    job = raw_producer.RawProducerJob(
        bootstrap=broker.bootstrap,
        requests=[{topic.name: topic.partitions}],
        record_bytes=record_bytes,
        batch_bytes=64 * 1024,
        seconds=seconds + 30,
    )
    killer = threading.Timer(seconds, broker.kill)
    killer.start()
    with contextlib.suppress(ClientFailed, FileNotFoundError):  # their connections broke, as they should
        run_load(broker.pid, [(raw_producer, job)] * 3)
    killer.join()


def scenarios() -> Iterator[Scenario]:
    yield EmptyDirectory()
    yield AfterKill()
