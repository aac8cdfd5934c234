"""Log compaction: how many megabytes of a dirty log a second of the broker's CPU cleans.

A topic is filled while compaction holds still (a log cannot be more than wholly dirty), then its ratio is
lowered and the broker cleans it. It reads everything twice, for the keys and for the copy, and writes what is
left. A first topic, which does not count, warms the broker up.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from bench.load import Usage
from bench.procfs import CpuUse, cpu_between, read_cpu
from bench.scenario import MB, Figure, Pace, Sample, Scenario, ratio_at_least
from bench.sides import Broker, Contestant
from bench.topics import Topic, make_topic

OPTIONS: Final = {"log.cleaner.backoff.ms": "100"}
WAITS: Final = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1", "segment.bytes": "4194304"}
CLEANED_WITHIN_S: Final = 120.0
LOG_BYTES: Final = 120_000_000
QUICK_SHARE: Final = 4
PER_CPU = "cleaned per CPU second"
PER_SECOND = "cleaned"


@dataclass(frozen=True)
class Compaction(Scenario):
    record_bytes: int
    compression: str
    has_warm_up = False  # of its own
    rounds_at_most = 2
    figures = (Figure(PER_CPU, "MB", ratio_at_least(1.0)), Figure(PER_SECOND, "MB/s"))

    @property
    def name(self) -> str:
        return f"compact-{'1k' if self.record_bytes == 1024 else self.record_bytes}-{self.compression}"

    @property
    def title(self) -> str:
        size = "1 KB" if self.record_bytes == 1024 else f"{self.record_bytes} B"
        return f"compact a log, {size} values, {self.compression}"

    def measure(self, contestant: Contestant, pace: Pace) -> Sample:
        least_bytes = LOG_BYTES // (QUICK_SHARE if pace.is_quick else 1)
        with contestant.fresh(OPTIONS) as broker:
            broker.start()
            for _ in range(2):
                topic = make_topic(broker, 1, WAITS)
                self._fill(broker, topic, least_bytes)
                sample = _clean(broker, topic)
            return sample

    def _fill(self, broker: Broker, topic: Topic, least_bytes: int) -> None:
        """Every key some ten times."""
        chance = random.Random(5)
        producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap,
                "compression.type": self.compression,
                "linger.ms": 20,
                "batch.size": 64 * 1024,
                "queue.buffering.max.kbytes": 65536,
            }
        )
        count = least_bytes // self.record_bytes
        padding = bytes(self.record_bytes - self.record_bytes // 2)
        for _ in range(count):
            key = b"%012d" % chance.randrange(count // 10)
            value = chance.randbytes(self.record_bytes // 2) + padding
            while True:
                try:
                    producer.produce(topic.name, value, key)
                    break
                except BufferError:
                    producer.poll(0.05)
        if producer.flush(60):
            raise TimeoutError("the topic could not be filled")


def _clean(broker: Broker, topic: Topic) -> Sample:
    directory = _folder_of(broker, topic)
    *closed, active = sorted(directory.glob("*.log"))
    size_bytes = sum(path.stat().st_size for path in closed)
    end_offset = int(active.stem)
    before = read_cpu(broker.pid)
    _set(broker, topic, "min.cleanable.dirty.ratio", "0")
    deadline = time.monotonic() + CLEANED_WITHIN_S
    while _cleaned_to(directory.parent, topic) < end_offset:
        if time.monotonic() > deadline:
            raise TimeoutError(f"not cleaned after {CLEANED_WITHIN_S:.0f} s")
        time.sleep(0.05)
    use = cpu_between(before, read_cpu(broker.pid))
    megabytes = size_bytes / MB
    if not use.cpu_s:
        raise ValueError("too little to measure: let it take longer")
    client = CpuUse(use.wall_s, 0.0, 0.0)
    return Sample(
        {PER_CPU: megabytes / use.cpu_s, PER_SECOND: megabytes / use.wall_s}, Usage(broker=use, client=client)
    )


def _folder_of(broker: Broker, topic: Topic) -> Path:
    (found,) = broker.data_dir.rglob(f"{topic.name}-0")
    return found


def _cleaned_to(directory: Path, topic: Topic) -> int:
    try:
        lines = (directory / "cleaner-offset-checkpoint").read_text().splitlines()
    except FileNotFoundError:
        return 0
    return next((int(line.split()[2]) for line in lines if line.startswith(f"{topic.name} 0 ")), 0)


def _set(broker: Broker, topic: Topic, option: str, value: str) -> None:
    entry = ConfigEntry(option, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic.name, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for changed in admin.incremental_alter_configs([resource]).values():
        changed.result(30)


def scenarios() -> Iterator[Scenario]:
    yield Compaction(100, "none")
    yield Compaction(1024, "none")
    yield Compaction(100, "lz4")
