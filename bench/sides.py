"""The two brokers that are compared, behind one face: start, pause, resume, stop, kill.

A side keeps one *shared* broker for the scenarios that only need some broker: it is started when first
asked for, and frozen while the other side has its turn. Scenarios about starting, memory and many
partitions take a *fresh* one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.support import jvm, real_kafka
from tests.support.broker_process import BrokerProcess
from tests.support.real_kafka import RealKafka

from mainstem import __version__ as mainstem_version

# Both by the same names: topics are made by the scenarios, and what was deleted leaves the disk soon.
COMMON_OPTIONS = {"auto.create.topics.enable": "false", "log.segment.delete.delay.ms": "1000"}


class Broker(Protocol):
    """What RealKafka and BrokerProcess have in common."""

    data_dir: Path

    @property
    def bootstrap(self) -> str: ...

    @property
    def pid(self) -> int: ...

    def start(self) -> object: ...

    def stop(self) -> int: ...

    def kill(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Side:
    """How to make a broker of one kind."""

    name: str
    version: str
    make: Callable[
        [Path, Mapping[str, str]], Broker
    ]  # data directory and options: one that is not started yet
    freezable_options: Mapping[str, str]  # for a broker that is stopped and continued


def _make_mainstem(data_dir: Path, options: Mapping[str, str]) -> Broker:
    """On a port that is known before it starts, as Kafka's is."""
    port = real_kafka.free_ports(1)[0]
    return BrokerProcess(data_dir, {"listener.kafka": f"127.0.0.1:{port}", **options})


def _make_kafka(data_dir: Path, options: Mapping[str, str]) -> Broker:
    kafka = RealKafka(data_dir, options)
    kafka.prepare()
    return kafka


MAINSTEM = Side("mainstem", mainstem_version, _make_mainstem, {})
# A node that was frozen for a minute must not be taken for dead by its own controller.
KAFKA = Side("kafka", real_kafka.VERSION, _make_kafka, {"broker.session.timeout.ms": "3600000"})


class Contestant:
    """A side, its shared broker, and the fresh ones that a scenario asked for."""

    def __init__(self, side: Side, home: Path) -> None:
        self.side = side
        self.home = home
        self._shared: Broker | None = None
        self._is_frozen = False
        self._count = 0

    @property
    def name(self) -> str:
        return self.side.name

    @contextlib.contextmanager
    def turn(self) -> Iterator[Broker]:
        """The shared broker, running; frozen again afterwards."""
        if self._shared is None:
            self._shared = self._make({**COMMON_OPTIONS, **self.side.freezable_options})
            self._shared.start()
        elif self._is_frozen:
            os.kill(self._shared.pid, signal.SIGCONT)
        self._is_frozen = False
        try:
            yield self._shared
        finally:
            os.kill(self._shared.pid, signal.SIGSTOP)
            self._is_frozen = True

    @contextlib.contextmanager
    def fresh(self, options: Mapping[str, str] | None = None) -> Iterator[Broker]:
        """A broker on an empty directory that is not started yet. It and its data are gone afterwards."""
        broker = self._make({**COMMON_OPTIONS, **(options or {})})
        home = self.home / str(self._count)
        try:
            yield broker
        finally:
            with contextlib.suppress(Exception):  # it may not have been started, or have been stopped
                broker.kill()
            shutil.rmtree(home, ignore_errors=True)

    def close(self) -> None:
        if self._shared is not None:
            self._shared.kill()
            self._shared = None

    def _make(self, options: Mapping[str, str]) -> Broker:
        self._count += 1
        return self.side.make(self.home / str(self._count) / "data", options)


def start_without_waiting(broker: Broker) -> None:
    """The process, and no wait for it to serve, so that the caller can look as often as it likes."""
    if isinstance(broker, RealKafka):
        broker.launch()
    else:
        broker.start()  # waits for the line that the broker prints when it serves


def java_version() -> str:
    said = subprocess.run([jvm.java_program(), "-version"], capture_output=True, text=True, check=False)
    return said.stderr.splitlines()[0] if said.stderr else "unknown"
