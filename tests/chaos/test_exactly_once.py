"""Consume, transform, produce: client and broker are killed at every step, each input has its effect once."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from tests.support.broker_process import BrokerProcess
from tests.support.confluent import create_topic, read_topic

COPIER = Path(__file__).parents[1] / "clients" / "exactly_once_copier.py"
STEPS = ("begun", "produced", "offsets", "committed")
PARTITIONS = 3
COMMITTED = {"isolation.level": "read_committed"}
PATIENCE_S = 180.0
OPTIONS = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "log.level": "warning",
}


class Copier:
    """The client, as often as it has to be started."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, step: str = "never") -> None:
        arguments = (self._bootstrap, "source", "target", str(PARTITIONS), step)
        self._process = subprocess.Popen([sys.executable, str(COPIER), *arguments], stderr=subprocess.DEVNULL)

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def wait_for_death(self) -> None:
        assert self._process is not None
        self._process.wait(PATIENCE_S)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_S)


class World:
    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.broker = BrokerProcess(folder / "data", OPTIONS).start()
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap, "log_level": 0})
        config = {"acks.after": self.chance.choice(["page-cache", "disk"]), "segment.bytes": "1048576"}
        for topic in ("source", "target"):
            create_topic(admin, topic, PARTITIONS, config)
        self.copier = Copier(self.broker.bootstrap)
        self.written = 0

    def write(self, count: int) -> None:
        producer = Producer(
            {"bootstrap.servers": self.broker.bootstrap, "enable.idempotence": True, "log_level": 0}
        )
        for number in range(self.written, self.written + count):
            producer.produce("source", str(number).encode(), partition=number % PARTITIONS)
        assert producer.flush(60) == 0
        self.written += count

    def kill_at(self, step: str) -> None:
        """The client dies in the middle of a transaction."""
        self.write(200)
        self.copier.kill()
        self.copier.start(step)
        self.copier.wait_for_death()

    def kill_broker(self) -> None:
        """Somewhere in whatever the client is doing; it may live on, or give up."""
        self.write(200)
        if not self.copier.is_running:
            self.copier.start()
        time.sleep(self.chance.random() * 1.5)
        self.broker.kill()
        self.broker.start()

    def finish(self) -> None:
        """Lets the rest be copied, and looks at what came of it."""
        deadline = time.monotonic() + PATIENCE_S
        while len(copied := self._copied()) < self.written:
            assert time.monotonic() < deadline, f"{len(copied)} of {self.written} copied"
            if not self.copier.is_running:
                self.copier.start()
            time.sleep(0.2)
        by_partition: dict[int, list[int]] = defaultdict(list)
        for partition, value in copied:
            by_partition[partition].append(value)
        for partition, values in by_partition.items():
            assert values == list(range(partition, self.written, PARTITIONS)), f"partition {partition}"

    def _copied(self) -> list[tuple[int, int]]:
        messages = read_topic(self.broker.bootstrap, "target", COMMITTED)
        return [(message.partition() or 0, int(message.value() or b"-1")) for message in messages]


def run(folder: Path, kills: int, seed: int) -> None:
    world = World(folder, seed)
    try:
        turns: list[str] = [*STEPS, *("broker" for _ in STEPS)]
        while len(turns) < kills:
            turns.append(world.chance.choice(["broker", *STEPS]))
        world.chance.shuffle(turns)
        for turn in turns[:kills]:
            if turn == "broker":
                world.kill_broker()
            else:
                world.kill_at(turn)
        world.finish()
        everything = read_topic(world.broker.bootstrap, "target", {"isolation.level": "read_uncommitted"})
        assert len(everything) > world.written, "nothing was aborted: the kills came at no bad moment"
        world.copier.kill()
        assert world.broker.stop() == 0
        world.broker.start()
        world.finish()
    finally:
        world.copier.kill()
        world.broker.kill()


def test_each_input_has_its_effect_once(tmp_path: Path) -> None:
    run(tmp_path, 10, seed=5)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(50))
def test_the_same_for_long(tmp_path: Path, seed: int) -> None:
    run(tmp_path, 20, seed)
