"""The loop that consumes, transforms and produces, while it and its broker are killed again and again.

Each input's effect is to be seen exactly once by a reader with read_committed, wherever the kill fell: at
each step of a transaction, or at random.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from tests.support import jvm
from tests.support.broker_process import BrokerProcess
from tests.support.confluent import create_topic, produce_all, read_topic

PROGRAM = Path(__file__).parents[1] / "clients" / "transform_loop.py"
STEPS = ("begun", "produced", "flushed", "offsets", "committed")
VICTIMS = ("client", "broker")
INPUTS_PER_KILL = 40  # of each partition
PATIENCE_S = 120.0
OPTIONS = {
    "transaction.state.log.num.partitions": "3",
    "offsets.topic.num.partitions": "3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "log.level": "warning",
}

Start = Callable[[str, int, str, int], "subprocess.Popen[str]"]


def start_confluent(bootstrap: str, inputs: int, step: str, after: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), bootstrap, str(inputs), step, str(after)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def start_java(bootstrap: str, inputs: int, step: str, after: int) -> subprocess.Popen[str]:
    return jvm.start_java(
        "kafka-clients-4",
        "mainstem.checks.TransformLoop",
        bootstrap,
        str(inputs),
        step,
        str(after),
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


class Killer:
    def __init__(self, broker: BrokerProcess, start: Start, inputs: int, chance: random.Random) -> None:
        self.broker = broker
        self.chance = chance
        self.inputs = inputs
        self._start = start
        self._loop: subprocess.Popen[str] | None = None

    def kill_at_step(self, step: str, victim: str) -> bool:
        """Whether the loop got there before all was done."""
        self._stop_loop()
        loop = self._loop = self._start(self.broker.bootstrap, self.inputs, step, self.chance.randint(0, 2))
        line = self._line()
        if line == "done":
            return False
        assert line == step, line
        self._kill(victim)
        if victim == "broker":
            assert loop.stdin is not None
            loop.stdin.write("go on\n")
            loop.stdin.flush()
        return True

    def kill_at_random(self, victim: str) -> bool:
        if self._loop is None or self._loop.poll() is not None:
            self._loop = self._start(self.broker.bootstrap, self.inputs, "begun", 0)
            if self._line() == "done":
                return False
            assert self._loop.stdin is not None
            self._loop.stdin.write("go on\n")
            self._loop.stdin.flush()
        pause = threading.Event()
        pause.wait(self.chance.uniform(0, 0.05))
        self._kill(victim)
        return True

    def finish(self) -> None:
        self._stop_loop()
        self._loop = self._start(self.broker.bootstrap, self.inputs, "never", 0)
        assert self._line() == "done"
        assert self._loop.wait(PATIENCE_S) == 0

    def _kill(self, victim: str) -> None:
        if victim == "broker":
            self.broker.kill()
            self.broker.start()
        else:
            self._stop_loop()

    def _stop_loop(self) -> None:
        if self._loop is not None:
            self._loop.kill()
            self._loop.communicate()
            self._loop = None

    def _line(self) -> str:
        """The next word of the loop; "" where it ended, or said nothing in time."""
        assert self._loop is not None
        assert self._loop.stdout is not None
        watchdog = threading.Timer(PATIENCE_S, self._loop.kill)
        watchdog.start()
        try:
            return self._loop.stdout.readline().strip()
        finally:
            watchdog.cancel()


def run_kills(directory: Path, start: Start, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    inputs = kills * INPUTS_PER_KILL
    with BrokerProcess(directory / "data", OPTIONS) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        for topic in ("in", "out"):
            create_topic(admin, topic, 2)
        numbers = [
            {"value": str(partition * inputs + number), "partition": partition}
            for partition in (0, 1)
            for number in range(inputs)
        ]
        produce_all(broker.bootstrap, "in", numbers)
        killer = Killer(broker, start, inputs, chance)
        marked = [(step, victim) for step in STEPS for victim in VICTIMS]
        struck = 0
        for turn in range(kills):
            if turn % 3 == 2:
                struck += killer.kill_at_random(chance.choice(VICTIMS))
            else:
                struck += killer.kill_at_step(*marked[(turn - turn // 3) % len(marked)])
        assert struck >= kills * 2 // 3, "the loop was done before it was killed: give it more to do"
        killer.finish()
        seen = Counter(
            int(message.value() or b"-1")
            for message in read_topic(broker.bootstrap, "out", {"isolation.level": "read_committed"})
        )
    wanted = {2 * number for number in range(2 * inputs)}
    missing, foreign = wanted - seen.keys(), seen.keys() - wanted
    doubled = [number for number, times in seen.items() if times > 1]
    found = {"missing": len(missing), "foreign": len(foreign), "doubled": len(doubled)}
    assert found == {"missing": 0, "foreign": 0, "doubled": 0}, f"seed {seed}"


@pytest.mark.parametrize(
    ("start", "kills"), [(start_confluent, 18), (start_java, 15)], ids=["confluent", "java"]
)
def test_each_input_takes_effect_once(tmp_path: Path, start: Start, kills: int) -> None:
    run_kills(tmp_path, start, kills, random.randrange(1 << 32))


@pytest.mark.soak
@pytest.mark.parametrize("start", [start_confluent, start_java], ids=["confluent", "java"])
@pytest.mark.parametrize("seed", range(20))
def test_the_same_for_long(tmp_path: Path, start: Start, seed: int) -> None:
    run_kills(tmp_path, start, 50, seed)
