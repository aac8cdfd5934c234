"""A Spark session of its own that reads a topic into nowhere, several times, with our source or Spark's own.

python -m bench.clients.spark_reader JOB      # a SparkJob as JSON; prints seconds of each read as JSON
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import msgspec

CONNECTOR = "spark-sql-kafka"  # of tests/jvm
WARM_UPS = 1


class SparkJob(msgspec.Struct):
    source: str  # mainstem or kafka
    bootstrap: str
    topic: str
    options: dict[str, str]
    times: int


def main() -> None:
    from tests.support.jvm import classpath

    from mainstem.spark.session import open_session

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    job = msgspec.json.decode(sys.argv[1], type=SparkJob)
    packages = Path(classpath(CONNECTOR).split(os.pathsep)[1]).parent
    spark = open_session(
        "mainstem-bench",
        master="local[2]",
        conf={
            "spark.jars": ",".join(str(path) for path in sorted(packages.glob("*.jar"))),
            "spark.driver.memory": "4g",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        },
    )
    reader = spark.read.format(job.source).option("kafka.bootstrap.servers", job.bootstrap)
    frame = reader.option("subscribe", job.topic).options(**job.options).load()
    seconds = []
    for number in range(WARM_UPS + job.times):
        started = time.perf_counter()
        frame.write.format("noop").mode("overwrite").save()
        if number >= WARM_UPS:
            seconds.append(time.perf_counter() - started)
    spark.stop()
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
