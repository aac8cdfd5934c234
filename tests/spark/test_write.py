"""`write` and `writeStream` with `format("mainstem")`: what arrives, and a repeated batch changes nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.testing import assertDataFrameEqual
from tests.spark.conftest import KEEPS_RECORDS, NewTopic
from tests.support.broker_process import BrokerProcess
from tests.support.confluent import create_topic, produce_all, read_topic
from tests.support.deadline import eventually

from mainstem.client.addresses import parse_addresses
from mainstem.client.cluster import ClusterClient
from mainstem.client.transactions import decide, list_transactions
from mainstem.model.murmur import partition_for_key
from mainstem.spark.sink_options import sink_options
from mainstem.spark.writing import Decidable, TaskWritten, write_task

PATIENCE_S = 90
PROJECT = Path(__file__).resolve().parents[2]
COMMITTED = {"isolation.level": "read_committed"}
AT = datetime(2024, 2, 29, 12, 30, 15, 123_000, tzinfo=UTC)


def committed_values(bootstrap: str, topic: str) -> list[int]:
    return sorted(int(message.value()) for message in read_topic(bootstrap, topic, COMMITTED))


def write(frame: DataFrame, bootstrap: str, **options: str) -> None:
    writer = frame.write.format("mainstem").mode("append")
    writer.option("kafka.bootstrap.servers", bootstrap).options(**options).save()


# --- batch


def test_all_columns_arrive(spark: SparkSession, bootstrap: str, new_topic: NewTopic) -> None:
    first, second = new_topic(3), new_topic(2)
    rows = [
        ("k1", b"v1", first, 2, AT, [("h", b"1"), ("h", None)]),
        ("k2", None, first, None, AT, None),
        (None, b"", second, 1, AT, []),
    ]
    schema = (
        "key string, value binary, topic string, partition int, timestamp timestamp, "
        "headers array<struct<key:string,value:binary>>"
    )
    write(spark.createDataFrame(rows, schema).coalesce(1), bootstrap)
    found = read_topic(bootstrap, first, COMMITTED)
    expected = partition_for_key(b"k2", 3)
    assert sorted(
        (message.partition(), message.key(), message.value(), message.headers()) for message in found
    ) == sorted([(2, b"k1", b"v1", [("h", b"1"), ("h", None)]), (expected, b"k2", None, None)])
    assert {message.timestamp()[1] for message in found} == {int(AT.timestamp() * 1000)}
    (other,) = read_topic(bootstrap, second, COMMITTED)
    assert (other.partition(), other.key(), other.value()) == (1, None, b"")


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_what_is_written_is_what_both_sources_read(
    spark: SparkSession, bootstrap: str, new_topic: NewTopic, delivery: str
) -> None:
    topic = new_topic(3)
    frame = spark.range(0, 20_000, 1, 3).select(
        f.col("id").cast("string").alias("key"), f.concat(f.lit("value "), f.col("id")).alias("value")
    )
    write(frame, bootstrap, topic=topic, delivery=delivery, **{"kafka.compression.type": "lz4"})
    for source in ("mainstem", "kafka"):
        reader = spark.read.format(source).option("kafka.bootstrap.servers", bootstrap)
        found = reader.option("subscribe", topic).option("kafka.isolation.level", "read_committed").load()
        assertDataFrameEqual(
            found.select(f.col("key").cast("string"), f.col("value").cast("string")),
            frame,
            checkRowOrder=False,
        )


def test_a_batch_with_a_name_is_written_once(
    spark: SparkSession, bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(2)
    frame = spark.range(100).select(f.col("id").cast("string").alias("value"))
    for version in ("1", "1", "0", "2"):
        write(frame, bootstrap, topic=topic, txnAppId=f"nightly-{topic}", txnVersion=version)
    assert committed_values(bootstrap, topic) == sorted([*range(100)] * 2)


def test_a_write_that_fails_leaves_nothing_in_sight_and_nothing_open(
    spark: SparkSession, bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(1)
    frame = spark.range(0, 1_000, 1, 2).select(
        f.when(f.col("id") < 990, f.col("id").cast("string"))
        .otherwise(f.raise_error(f.lit("row beyond 990")))
        .alias("value")
    )
    with pytest.raises(PySparkException, match="row beyond 990"):
        write(frame, bootstrap, topic=topic)
    write(spark.range(5).select(f.col("id").cast("string").alias("value")), bootstrap, topic=topic)
    assert committed_values(bootstrap, topic) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ("id", {}, ["'id' has no meaning", "to_json"]),
        ("cast(id as string) as value", {}, ["which topic"]),
        ("cast(id as string) as value", {"topic": "no-such-topic"}, ["no-such-topic"]),
        ("cast(id as string) as value", {"topic": "t", "delivery": "twice"}, ["delivery", "'twice'"]),
    ],
)
def test_wrong_frames_and_options_are_told(
    spark: SparkSession, bootstrap: str, columns: str, options: dict[str, str], words: list[str]
) -> None:
    with pytest.raises(PySparkException) as caught:
        write(spark.range(3).selectExpr(columns), bootstrap, **options)
    for word in words:
        assert word in str(caught.value)


# --- stream


class Copy:
    """A stream from one topic into another."""

    def __init__(
        self, spark: SparkSession, bootstrap: str, directory: Path, source: str, target: str
    ) -> None:
        self.checkpoint = directory / "checkpoint"
        self.through: Callable[[DataFrame], DataFrame] = lambda frame: frame
        self._spark = spark
        self._options = {"kafka.bootstrap.servers": bootstrap}
        self._source = source
        self._target = target

    def run(self) -> None:
        reader = self._spark.readStream.format("mainstem").options(**self._options)
        frame = reader.option("subscribe", self._source).option("startingOffsets", "earliest").load()
        writer = self.through(frame.select("key", "value")).writeStream.format("mainstem")
        writer = writer.options(**self._options, topic=self._target)
        query = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(PATIENCE_S)
        finally:
            query.stop()

    def forget_last_commit(self) -> None:
        """As if Spark had been killed after our decision and before its own note of it."""
        commits = self.checkpoint / "commits"
        last = max(
            (path for path in commits.iterdir() if path.name.isdigit()), key=lambda path: int(path.name)
        )
        last.unlink()
        (commits / f".{last.name}.crc").unlink(missing_ok=True)


@pytest.fixture
def copy(spark: SparkSession, bootstrap: str, tmp_path: Path, new_topic: NewTopic) -> tuple[Copy, str, str]:
    source, target = new_topic(2), new_topic(3)
    return Copy(spark, bootstrap, tmp_path, source, target), source, target


def fill(bootstrap: str, topic: str, first: int, end: int) -> None:
    produce_all(bootstrap, topic, [{"key": b"%d" % (n % 10), "value": b"%d" % n} for n in range(first, end)])


def test_a_repeated_batch_changes_nothing(bootstrap: str, copy: tuple[Copy, str, str]) -> None:
    job, source, target = copy
    fill(bootstrap, source, 0, 500)
    job.run()
    assert committed_values(bootstrap, target) == list(range(500))
    job.forget_last_commit()
    job.run()
    assert committed_values(bootstrap, target) == list(range(500))
    fill(bootstrap, source, 500, 700)
    job.run()
    messages = read_topic(bootstrap, target, COMMITTED)
    assert sorted(int(message.value()) for message in messages) == list(range(700))
    for key in range(10):  # each key's in the order in which they came
        mine = [int(message.value()) for message in messages if message.key() == b"%d" % key]
        assert mine == sorted(mine)
    with ClusterClient(parse_addresses(bootstrap)) as cluster:
        assert not list_transactions(cluster, states=["Ongoing"])


def test_a_worker_that_is_killed_costs_nothing_but_time(
    bootstrap: str, copy: tuple[Copy, str, str], tmp_path: Path
) -> None:
    job, source, target = copy
    fill(bootstrap, source, 0, 300)
    flag = tmp_path / "killed"

    def kill_once(batches: Iterator[Any]) -> Iterator[Any]:
        for number, batch in enumerate(batches):
            yield batch
            if number == 0 and not flag.exists():
                flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)

    job.through = lambda frame: frame.mapInArrow(kill_once, "key binary, value binary")
    with pytest.raises(StreamingQueryException):
        job.run()
    assert flag.exists()
    assert committed_values(bootstrap, target) == []
    job.run()
    assert committed_values(bootstrap, target) == list(range(300))


@pytest.mark.parametrize("step", ["before", "after"])
def test_a_driver_that_is_killed_at_its_decision(
    bootstrap: str, copy: tuple[Copy, str, str], step: str
) -> None:
    job, source, target = copy
    fill(bootstrap, source, 0, 200)
    program = [sys.executable, "-m", "tests.clients.spark_copy_program"]
    died = subprocess.run(
        [*program, bootstrap, source, target, str(job.checkpoint), step],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert died.returncode == -signal.SIGKILL, died.stderr[-3000:]
    assert committed_values(bootstrap, target) == ([] if step == "before" else list(range(200)))
    fill(bootstrap, source, 200, 250)
    job.run()
    assert committed_values(bootstrap, target) == list(range(250))


def test_a_broker_that_is_killed_while_tasks_write(spark: SparkSession, tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", {"offsets.topic.num.partitions": "2"}) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        source, target = (
            create_topic(admin, "source", 2, KEEPS_RECORDS),
            create_topic(admin, "target", 3, KEEPS_RECORDS),
        )
        fill(broker.bootstrap, source, 0, 20_000)
        job = Copy(spark, broker.bootstrap, tmp_path, source, target)
        reached = tmp_path / "reached"

        def tell(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                yield batch
                reached.touch()

        job.through = lambda frame: frame.mapInArrow(tell, "key binary, value binary")
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(job.run)
            eventually(lambda: reached.exists() or running.done(), "a task at work", patience_s=PATIENCE_S)
            broker.kill()
            broker.start()
            error = running.exception(PATIENCE_S)
        if error is not None:  # Spark gave up before the broker was back
            job.run()
        assert committed_values(broker.bootstrap, target) == list(range(20_000))


# --- the steps of a batch, one by one


def task(bootstrap: str, topic: str, writer: str, number: int, values: range) -> TaskWritten:
    options = sink_options({"kafka.bootstrap.servers": bootstrap, "topic": topic}, is_streaming=True)
    batch = pa.RecordBatch.from_arrays([pa.array([str(value) for value in values])], names=["value"])
    return write_task(options, [batch], Decidable(writer, number))


def test_every_step_between_write_and_decision_can_be_repeated(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    writer = f"writer-{topic}"
    task(bootstrap, topic, writer, 0, range(10))  # its driver is gone before it decides
    assert committed_values(bootstrap, topic) == []
    again = [task(bootstrap, topic, writer, 0, range(5)), task(bootstrap, topic, writer, 0, range(5, 10))]
    with ClusterClient(parse_addresses(bootstrap)) as cluster:
        ids = [written.transactional_id or "" for written in again]
        assert decide(cluster, writer, 0, ids).committed_ids == set(ids)
        late = task(bootstrap, topic, writer, 0, range(10))
        assert late.transactional_id is None
        assert decide(cluster, writer, 0, []).committed_ids == set(ids)
        assert not list_transactions(cluster, states=["Ongoing"])
    assert committed_values(bootstrap, topic) == list(range(10))
