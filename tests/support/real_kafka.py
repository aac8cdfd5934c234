"""Apache Kafka itself, as one process: what we are measured against and whose files we must understand.

One node that is broker and controller (KRaft), from the packages of tests/jvm/kafka-server, with the JVM
flags and the heap that Kafka's own start script gives it. Everything that a single node needs is set; any
line of server.properties can be overridden. Beside the data directory lies a folder <data_dir>.kafka with
its configuration and its log.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final

from tests.support import jvm

PACKAGE: Final = "kafka-server"
VERSION: Final = "4.3.1"
CLUSTER_ID: Final = "bWFpbnN0ZW0tdGVzdHMtMQ"
# As bin/kafka-run-class.sh and bin/kafka-server-start.sh have them.
JVM_FLAGS: Final = (
    "-Xms1G",
    "-Xmx1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)
SINGLE_NODE: Final = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}
LOG4J: Final = """\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d] %p %m (%c{1.})%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
"""
READY_MARK: Final = "Kafka Server started"
START_TIMEOUT_S: Final = 120.0
STOP_TIMEOUT_S: Final = 60.0


class RealKafkaError(Exception):
    """Kafka did not start; its log is in the message."""


class RealKafka:
    """Start, stop, kill and start again on the same ports and the same data."""

    def __init__(
        self,
        data_dir: Path,
        options: Mapping[str, str] | None = None,
        jvm_flags: tuple[str, ...] = JVM_FLAGS,
        keystore: Path | None = None,
    ) -> None:
        """`keystore`: a PEM file with a certificate and its key, for a second listener, with TLS."""
        self.data_dir = data_dir
        self._side = data_dir.with_name(f"{data_dir.name}.kafka")
        self._options = dict(options or {})
        self._jvm_flags = jvm_flags
        self._keystore = keystore
        self._port, self._controller_port, self._tls_port = free_ports(3)
        self._process: subprocess.Popen[str] | None = None
        self._log_from = 0

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def tls_bootstrap(self) -> str:
        """The listener with TLS, where there is a keystore."""
        return f"127.0.0.1:{self._tls_port}"

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def properties_file(self) -> Path:
        return self._side / "server.properties"

    def start(self, wait: bool = True) -> RealKafka:
        """Formats an empty data directory, starts the process and waits until it serves."""
        self.prepare()
        self.launch()
        if wait:
            self.wait_until_ready()
        return self

    def prepare(self) -> None:
        """Configuration and format: what an operator does once, before the first start."""
        self._side.mkdir(parents=True, exist_ok=True)
        (self._side / "log4j2.properties").write_text(LOG4J)
        self.properties_file.write_text("".join(f"{name}={value}\n" for name, value in self._properties()))
        if (self.data_dir / "meta.properties").exists():
            return
        arguments = ["format", "--standalone", "-t", CLUSTER_ID, "-c", str(self.properties_file)]
        done = jvm.java(PACKAGE, "kafka.tools.StorageTool", *arguments)
        if done.returncode != 0:
            raise RealKafkaError(f"formatting {self.data_dir} failed:\n{done.stdout}{done.stderr}")

    def launch(self) -> None:
        """Starts the process and does not wait."""
        flags = (*self._jvm_flags, f"-Dlog4j2.configurationFile={self._side / 'log4j2.properties'}")
        with self._log_file.open("ab") as log:
            self._log_from = log.tell()
            self._process = jvm.start_java(
                PACKAGE, "kafka.Kafka", str(self.properties_file), flags=flags, stdout=log, stderr=log
            )

    def wait_until_ready(self, timeout_s: float = START_TIMEOUT_S) -> None:
        deadline = time.monotonic() + timeout_s
        while READY_MARK not in self.log_text():
            if self._running().poll() is not None:
                raise RealKafkaError(f"Kafka ended while it started:\n{self.log_text()[-4000:]}")
            if time.monotonic() > deadline:
                self.kill()
                raise RealKafkaError(f"Kafka was not ready in {timeout_s:.0f} s:\n{self.log_text()[-4000:]}")
            time.sleep(0.02)

    def stop(self) -> int:
        """A clean stop; the exit code (a JVM that a SIGTERM ended says 143)."""
        process = self._running()
        process.send_signal(signal.SIGTERM)
        try:
            return process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            self._process = None

    def kill(self) -> None:
        process = self._running()
        process.kill()
        process.wait()
        self._process = None

    def log_text(self) -> str:
        """What it logged since the last start."""
        with self._log_file.open("rb") as log:
            log.seek(self._log_from)
            return log.read().decode(errors="replace")

    def __enter__(self) -> RealKafka:
        return self if self._process is not None else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self.stop()

    @property
    def _log_file(self) -> Path:
        return self._side / "server.log"

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise RealKafkaError("Kafka is not running: call start() first")
        return self._process

    def _properties(self) -> list[tuple[str, str]]:
        broker, controller = f"127.0.0.1:{self._port}", f"127.0.0.1:{self._controller_port}"
        addresses = {
            "listeners": f"PLAINTEXT://{broker},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{broker},CONTROLLER://{controller}",
            "controller.quorum.bootstrap.servers": controller,
            "log.dirs": os.fspath(self.data_dir),
        }
        if self._keystore is not None:
            addresses["listeners"] += f",SSL://{self.tls_bootstrap}"
            addresses["advertised.listeners"] += f",SSL://{self.tls_bootstrap}"
            addresses["listener.security.protocol.map"] = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL"
            addresses["ssl.keystore.type"] = "PEM"
            addresses["ssl.keystore.location"] = os.fspath(self._keystore)
        return list({**SINGLE_NODE, **addresses, **self._options}.items())


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now, each different: all are held until all are known."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
