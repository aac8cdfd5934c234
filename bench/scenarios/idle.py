"""What a broker takes when it has nothing to do: before it ever worked, and after a load."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench.clients import confluent_producer, raw_fetcher, raw_producer
from bench.load import run_load
from bench.procfs import cpu_between, open_files, read_cpu, resident_bytes
from bench.scenario import MB, Figure, Pace, Sample, Scenario, at_most
from bench.sides import Broker, Contestant
from bench.topics import Topic, end_offsets, make_topic

PARTITIONS = 6
WATCH_S = 20.0
QUICK_WATCH_S = 5.0
SETTLE_S = 2.0
LOAD_SECONDS = 4.0


@dataclass(frozen=True)
class Idle(Scenario):
    name = "idle"
    title = "a fresh broker: idle, and after a load of produce and fetch"
    has_warm_up = False
    rounds_at_most = 1
    figures = (
        Figure("idle CPU", "% of a core", at_most(1.0)),
        Figure("resident, idle", "MB", at_most(100)),
        Figure("resident, after the load", "MB", at_most(100)),
        Figure("idle CPU after the load", "% of a core", at_most(1.0)),
        Figure("open files after the load", ""),
    )

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        watch_s = QUICK_WATCH_S if pace.is_quick else WATCH_S
        with contestant.fresh() as broker:
            broker.start()
            topic = make_topic(broker, PARTITIONS)
            time.sleep(SETTLE_S)
            values = {"idle CPU": _idle_percent(broker, watch_s), "resident, idle": _resident_mb(broker)}
            _work(broker, topic)
            time.sleep(SETTLE_S)
            values["resident, after the load"] = _resident_mb(broker)
            values["open files after the load"] = open_files(broker.pid)
            values["idle CPU after the load"] = _idle_percent(broker, watch_s / 2)
        return Sample(values)


def _idle_percent(broker: Broker, seconds: float) -> float:
    before = read_cpu(broker.pid)
    time.sleep(seconds)
    return cpu_between(before, read_cpu(broker.pid)).cores * 100


def _resident_mb(broker: Broker) -> float:
    return resident_bytes(broker.pid) / MB


def _work(broker: Broker, topic: Topic) -> None:
    """Large ready batches on three connections, many small messages, and large fetches."""
    batches = raw_producer.RawProducerJob(
        bootstrap=broker.bootstrap,
        requests=[{topic.name: topic.partitions}],
        record_bytes=1024,
        batch_bytes=64 * 1024,
        seconds=LOAD_SECONDS / 2,
    )
    run_load(broker.pid, [(raw_producer, batches)] * 3)
    end_offset = min(end_offsets(broker, topic.name).values())
    messages = confluent_producer.ConfluentProducerJob(
        bootstrap=broker.bootstrap, topic=topic.name, record_bytes=100, seconds=LOAD_SECONDS
    )
    run_load(broker.pid, [(confluent_producer, messages)])
    fetches = raw_fetcher.RawFetcherJob(
        bootstrap=broker.bootstrap,
        topic_id_hex=topic.topic_id.hex(),
        partitions=topic.partitions,
        end_offset=end_offset,
        record_bytes=1024,
        batch_bytes=64 * 1024,
        partition_max_bytes=1024 * 1024,
        seconds=LOAD_SECONDS,
    )
    run_load(broker.pid, [(raw_fetcher, fetches)] * 3)


def scenarios() -> Iterator[Scenario]:
    yield Idle()
