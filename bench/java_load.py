"""Kafka's own performance tools as clients: run to their end, their figures read from what they print.

A JVM needs seconds to become fast. The producer tool reports on its records after a warm-up of its own;
the consumer tool's `fetch.nMsg.sec` leaves out the time in which the group was joined.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from tests.support import jvm, real_kafka

from bench.clients.harness import Report
from bench.load import ClientFailed, Outcome, Usage
from bench.procfs import CpuReading, cpu_between, read_cpu

# As bin/kafka-producer-perf-test.sh sets them.
TOOL_FLAGS = ("-Xmx512M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-Djava.awt.headless=true")
STEADY_RATE = re.compile(r"(?P<count>\d+) (?:steady state )?records sent, (?P<rate>[\d.]+) records/sec")
LOOK_EVERY_S = 0.05
TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class ToolRun:
    outcome: Outcome
    rate: float  # messages per second, as the tool says


def produce(
    broker_pid: int,
    bootstrap: str,
    topic: str,
    record_bytes: int,
    messages: int,
    acks: str,
    compression: str,
) -> ToolRun:
    arguments = ["--bootstrap-server", bootstrap, "--topic", topic, "--num-records", str(messages)]
    arguments += ["--record-size", str(record_bytes), "--throughput", "-1", "--reporting-interval", "60000"]
    arguments += ["--warmup-records", str(messages // 3), "--command-property"]
    arguments += [f"acks={acks}", f"compression.type={compression}"]
    said, usage = _run(broker_pid, "org.apache.kafka.tools.ProducerPerformance", arguments)
    rates = [float(match["rate"]) for match in STEADY_RATE.finditer(said)]
    if not rates:
        raise ClientFailed(said[-2000:])
    return ToolRun(_outcome(messages, record_bytes, usage), rates[-1])


def consume(broker_pid: int, bootstrap: str, topic: str, record_bytes: int, messages: int) -> ToolRun:
    arguments = ["--bootstrap-server", bootstrap, "--topic", topic, "--num-records", str(messages)]
    arguments += ["--timeout", "30000", "--reporting-interval", "60000", "--hide-header"]
    said, usage = _run(broker_pid, "org.apache.kafka.tools.ConsumerPerformance", arguments)
    lines = [line.split(",") for line in said.splitlines() if line.count(",") == 9]
    if not lines or int(lines[-1][4]) < messages:
        raise ClientFailed(said[-2000:])
    return ToolRun(_outcome(messages, record_bytes, usage), float(lines[-1][9]))


def _outcome(messages: int, record_bytes: int, usage: Usage) -> Outcome:
    report = Report(seconds=usage.client.wall_s, messages=messages, payload_bytes=messages * record_bytes)
    return Outcome([report], usage)


def _run(broker_pid: int, main_class: str, arguments: list[str]) -> tuple[str, Usage]:
    """A tool ends by itself, so its CPU is read often: the last reading is at most 50 ms old."""
    broker_before = read_cpu(broker_pid)
    process = jvm.start_java(real_kafka.PACKAGE, main_class, *arguments, flags=TOOL_FLAGS)
    first = last = read_cpu(process.pid)
    deadline = time.monotonic() + TIMEOUT_S
    try:
        while process.poll() is None:
            if time.monotonic() > deadline:
                raise ClientFailed(f"{main_class} did not end within {TIMEOUT_S:.0f} s")
            last = _reading(process.pid) or last
            time.sleep(LOOK_EVERY_S)
    finally:
        process.kill()
        said = process.communicate()[0]
    if process.returncode != 0:
        raise ClientFailed(said[-2000:])
    return said, Usage(cpu_between(broker_before, read_cpu(broker_pid)), cpu_between(first, last))


def _reading(pid: int) -> CpuReading | None:
    try:
        reading = read_cpu(pid)
    except (OSError, IndexError):
        return None
    return reading if reading.threads_s else None
