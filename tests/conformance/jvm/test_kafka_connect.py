"""Kafka Connect with its file connectors: a worker that keeps everything it knows in our topics."""

from __future__ import annotations

import json
import urllib.error
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType
from tests.conformance.conftest import StartBroker
from tests.support.confluent import read_topic
from tests.support.deadline import eventually
from tests.support.http import request
from tests.support.java_application import JavaApplication
from tests.support.real_kafka import free_ports

pytestmark = pytest.mark.xdist_group("kafka-connect")

WORKER = """\
bootstrap.servers={bootstrap}
group.id=connect
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
offset.storage.topic=connect-offsets
offset.storage.partitions=3
offset.storage.replication.factor=1
config.storage.topic=connect-configs
config.storage.replication.factor=1
status.storage.topic=connect-status
status.storage.partitions=2
status.storage.replication.factor=1
offset.flush.interval.ms=500
scheduled.rebalance.max.delay.ms=0
listeners=HTTP://127.0.0.1:{port}
"""
INTERNAL = ("connect-offsets", "connect-configs", "connect-status")


class Worker:
    def __init__(self, folder: Path, bootstrap: str) -> None:
        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        self._properties = folder / "worker.properties"
        self._properties.write_text(WORKER.format(bootstrap=bootstrap, port=port))

    def start(self) -> JavaApplication:
        application = JavaApplication(
            "kafka-connect", "org.apache.kafka.connect.cli.ConnectDistributed", str(self._properties)
        )
        eventually(
            lambda: self._serves() or not application.is_running, "the worker", patience_s=90, pause_s=0.2
        )
        assert application.is_running, "\n".join(application.lines[-60:])
        return application

    def _serves(self) -> bool:
        try:
            return request(self.url, "/connectors").status == 200
        except (urllib.error.URLError, ConnectionError):
            return False

    def connect(self, name: str, kind: str, **config: str) -> None:
        settings = {"connector.class": f"org.apache.kafka.connect.file.FileStream{kind}Connector", **config}
        made = request(self.url, "/connectors", "POST", {"name": name, "config": settings})
        assert made.status == 201, made

    def states(self) -> list[str]:
        """Of all connectors and their tasks."""
        told = request(self.url, "/connectors?expand=status").json
        found = [each["status"] for each in told.values()]
        return [part["state"] for each in found for part in (each["connector"], *each["tasks"])]


def test_file_connectors_in_a_distributed_worker(start_broker: StartBroker, tmp_path: Path) -> None:
    broker = start_broker()
    source, sink = tmp_path / "source.txt", tmp_path / "sink.txt"
    lines = [f"line {number}" for number in range(300)]
    source.write_text("".join(f"{line}\n" for line in lines[:200]))
    worker = Worker(tmp_path, broker.bootstrap)

    with worker.start() as running:
        worker.connect("in", "Source", file=str(source), topic="lines")
        worker.connect("out", "Sink", file=str(sink), topics="lines")
        eventually(lambda: worker.states() == ["RUNNING"] * 4, "all tasks to run", patience_s=60, pause_s=0.2)
        eventually(lambda: written(sink) == lines[:200], "the first lines", patience_s=60, pause_s=0.2)
        assert running.terminate() in (0, 143)

    with source.open("a") as file:
        file.write("".join(f"{line}\n" for line in lines[200:]))
    with worker.start() as running:  # from its topics it knows the connectors and how far they were
        eventually(
            lambda: written(sink) == lines, "the other lines, and none twice", patience_s=60, pause_s=0.2
        )
        assert worker.states() == ["RUNNING"] * 4
        assert running.terminate() in (0, 143)

    assert [message.value().decode() for message in read_topic(broker.bootstrap, "lines")] == lines
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for topic in INTERNAL:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        assert admin.describe_configs([resource])[resource].result(20)["cleanup.policy"].value == "compact"
    offsets = [json.loads(message.value()) for message in read_topic(broker.bootstrap, "connect-offsets")]
    assert offsets[-1] == {"position": source.stat().st_size}


def written(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
