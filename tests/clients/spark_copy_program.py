"""Copies a topic into another by a stream, and dies at a step of the sink's commit: a program of its own.

    python -m tests.clients.spark_copy_program BOOTSTRAP SOURCE TARGET CHECKPOINT before|after

`before` kills driver and JVM when all tasks have written and nothing is decided, `after` when the decision
is made and Spark does not know of it yet.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql.types import StructType

from mainstem.spark.format import MainstemFormat
from mainstem.spark.session import open_session
from mainstem.spark.sink import StreamSink

VICTIMS = "MAINSTEM_TEST_VICTIMS"  # process ids, and the step
STEP = "MAINSTEM_TEST_STEP"


class DyingSink(StreamSink):
    def commit(self, messages: Sequence[Any], batchId: int) -> None:
        if os.environ[STEP] == "after":
            super().commit(messages, batchId)
        for pid in os.environ[VICTIMS].split(","):
            os.kill(int(pid), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


class DyingFormat(MainstemFormat):
    @classmethod
    def name(cls) -> str:
        return "dying"

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamSink:
        return DyingSink(super().streamWriter(schema, overwrite)._options)


def main() -> None:
    bootstrap, source, target, checkpoint, step = sys.argv[1:]
    os.environ[STEP] = step
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    project = str(Path(__file__).resolve().parents[2])
    os.environ["PYTHONPATH"] = project  # the workers unpickle this module by its name
    # The JVM hands its environment on to the workers, so the script that starts it takes note of its id.
    starter = Path(checkpoint).parent / "java-home"
    home = Path(os.environ.get("JAVA_HOME") or _java_home())
    (starter / "bin").mkdir(parents=True)
    java = starter / "bin" / "java"
    java.write_text(f'#!/bin/sh\n{VICTIMS}="$$,{os.getpid()}" exec "{home}/bin/java" "$@"\n')
    java.chmod(0o755)
    (starter / "release").touch()
    os.environ["JAVA_HOME"] = str(starter)
    spark = open_session("copy", master="local[2]", conf={"spark.ui.enabled": "false"})
    spark.dataSource.register(DyingFormat)
    frame = spark.readStream.format("mainstem").option("kafka.bootstrap.servers", bootstrap)
    frame = frame.option("subscribe", source).option("startingOffsets", "earliest").load()
    writer = frame.select("key", "value").writeStream.format("dying").option("topic", target)
    writer = writer.option("kafka.bootstrap.servers", bootstrap).option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()


def _java_home() -> Path:
    from mainstem.spark.java import find_java

    return find_java()


if __name__ == "__main__":
    from tests.clients.spark_copy_program import main as run  # under its own name, for pickle

    run()
