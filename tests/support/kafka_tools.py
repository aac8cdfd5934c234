"""Kafka's command-line tools by their names, in one JVM that stays (see ToolServer.java)."""

from __future__ import annotations

import base64
import subprocess
from types import TracebackType
from typing import Final, NamedTuple, Self

from tests.support import jvm

MAIN_CLASSES: Final = {
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
    "kafka-verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
}


class ToolRun(NamedTuple):
    exit_code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class KafkaTools:
    """Runs one tool after the other. Not for several threads."""

    def __init__(self) -> None:
        self._server = jvm.start_java(
            "kafka-server",
            "mainstem.tools.ToolServer",
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # what tools say there is in their answers
        )

    def run(self, tool: str, *arguments: str, stdin: str = "") -> ToolRun:
        """Runs a tool to its end; the exit code is for the caller to judge."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        fields = [MAIN_CLASSES[tool], stdin, *arguments]
        self._server.stdin.write(" ".join(map(_encoded, fields)) + "\n")
        self._server.stdin.flush()
        answer = self._server.stdout.readline()
        assert answer, f"{tool} ended the JVM of the tools"
        code, out, err = answer.split()
        return ToolRun(int(code), _decoded(out), _decoded(err))

    def output(self, tool: str, *arguments: str, stdin: str = "") -> str:
        """What a tool printed; fails where it ended with an error."""
        run = self.run(tool, *arguments, stdin=stdin)
        assert run.exit_code == 0, f"{tool} ended with exit code {run.exit_code}:\n{run.out}\n{run.err}"
        return run.out

    def close(self) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        try:
            self._server.wait(10)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _encoded(field: str) -> str:
    return "=" + base64.b64encode(field.encode()).decode()


def _decoded(field: str) -> str:
    return base64.b64decode(field[1:]).decode(errors="replace")
