"""Runs clients against a broker and reads what everybody used meanwhile."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import msgspec

from bench.clients.harness import GO, READY, Job, Report
from bench.procfs import CpuUse, cpu_between, read_cpu, together

PROJECT = Path(__file__).resolve().parents[1]
BUSY_SHARE = 0.85  # of the time: a thread that ran longer was the limit
STOP_TIMEOUT_S = 10.0


class ClientFailed(Exception):
    """A load generator ended with an error; what it said is in the message."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Who used how much CPU while the load ran."""

    broker: CpuUse
    client: CpuUse

    @property
    def limit(self) -> str:
        """What kept the load from being larger."""
        busy = [
            name
            for name, use in (("broker", self.broker), ("client", self.client))
            if use.busiest_thread >= BUSY_SHARE
        ]
        if busy:
            return " and ".join(busy)
        if self.broker.cores + self.client.cores >= BUSY_SHARE * (os.cpu_count() or 1):
            return "the cores"
        return "waiting"


@dataclass(frozen=True, slots=True)
class Outcome:
    reports: Sequence[Report]
    usage: Usage

    @property
    def seconds(self) -> float:
        return max(report.seconds for report in self.reports)

    @property
    def messages(self) -> int:
        return sum(report.messages for report in self.reports)

    @property
    def payload_bytes(self) -> int:
        return sum(report.payload_bytes for report in self.reports)

    @property
    def requests(self) -> int:
        return sum(report.requests for report in self.reports)


class ClientProcess:
    def __init__(self, module: ModuleType, job: Job) -> None:
        arguments = [sys.executable, "-m", module.__name__, msgspec.json.encode(job).decode()]
        self._process = subprocess.Popen(
            arguments,
            cwd=PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_ready(self) -> None:
        self._read_line(READY)

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{GO}\n")
        self._process.stdin.flush()

    def report(self) -> Report:
        return msgspec.json.decode(self._read_line(None), type=Report)

    def close(self) -> None:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self._process.communicate(timeout=STOP_TIMEOUT_S)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _read_line(self, expected: str | None) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line or (expected is not None and line != expected):
            _, said = self._process.communicate(timeout=STOP_TIMEOUT_S)
            raise ClientFailed(said.strip()[-2000:] or f"a client said {line!r}")
        return line


@contextlib.contextmanager
def clients(jobs: Sequence[tuple[ModuleType, Job]]) -> Iterator[list[ClientProcess]]:
    """Started one after the other, each ready before the next: a consumer first where one listens."""
    started: list[ClientProcess] = []
    try:
        for module, job in jobs:
            started.append(ClientProcess(module, job))
            started[-1].wait_until_ready()
        yield started
    finally:
        for client in started:
            client.close()


def run_load(broker_pid: int, jobs: Sequence[tuple[ModuleType, Job]]) -> Outcome:
    """All clients at once, from the first go to the last report."""
    with clients(jobs) as running:
        pids = [broker_pid, *(client.pid for client in running)]
        before = [read_cpu(pid) for pid in pids]
        for client in running:
            client.go()
        reports = [client.report() for client in running]
        after = [read_cpu(pid) for pid in pids]
    broker, *others = [cpu_between(*readings) for readings in zip(before, after, strict=True)]
    return Outcome(reports, Usage(broker, together(others)))
