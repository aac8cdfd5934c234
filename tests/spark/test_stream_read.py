"""`spark.readStream.format("mainstem")`: restarts, limits, new and vanished partitions, the group."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from tests.spark.conftest import NewTopic
from tests.support.confluent import create_topic, produce_all
from tests.support.deadline import eventually

from mainstem.client.addresses import parse_addresses
from mainstem.client.cluster import ClusterClient
from mainstem.client.groups import committed_offsets, list_groups
from mainstem.model.ids import TopicPartition

PATIENCE_S = 90


class Job:
    """A query that is run again and again over one checkpoint, each time over what is available."""

    def __init__(self, spark: SparkSession, bootstrap: str, directory: Path, **options: str) -> None:
        self.checkpoint = directory / "checkpoint"
        self.rows: list[tuple[int, int, bytes]] = []
        self.batch_sizes: list[int] = []
        self._spark = spark
        self.options = {"kafka.bootstrap.servers": bootstrap, "startingOffsets": "earliest", **options}

    def start(self, **trigger: Any) -> StreamingQuery:
        def keep(batch: DataFrame, _number: int) -> None:
            rows = batch.select("partition", "offset", "value").collect()
            self.rows += [(row.partition, row.offset, bytes(row.value)) for row in rows]
            self.batch_sizes.append(len(rows))

        stream = self._spark.readStream.format("mainstem").options(**self.options).load()
        writer = stream.writeStream.option("checkpointLocation", str(self.checkpoint))
        return writer.foreachBatch(keep).trigger(**trigger).start()

    def run(self) -> StreamingQuery:
        query = self.start(availableNow=True)
        try:
            assert query.awaitTermination(PATIENCE_S)
        finally:
            query.stop()
        return query

    def offsets(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for partition, offset, _ in self.rows:
            found.setdefault(partition, []).append(offset)
        return {partition: sorted(offsets) for partition, offsets in sorted(found.items())}


MakeJob = Callable[..., Job]


@pytest.fixture
def make_job(spark: SparkSession, bootstrap: str, tmp_path: Path) -> MakeJob:
    return lambda **options: Job(spark, bootstrap, tmp_path, **options)


def fill(bootstrap: str, topic: str, count: int, partitions: int, first: int = 0) -> None:
    produce_all(
        bootstrap,
        topic,
        [
            {"value": b"%d" % number, "partition": number % partitions}
            for number in range(first, first + count)
        ],
    )


def test_runs_follow_each_other_without_a_gap_and_take_new_partitions_along(
    bootstrap: str, admin: AdminClient, new_topic: NewTopic, make_job: MakeJob
) -> None:
    topic = new_topic(2)
    fill(bootstrap, topic, 100, 2)
    job = make_job(subscribe=topic, maxOffsetsPerTrigger="30", groupIdPrefix="shown-as")
    query = job.run()
    assert job.offsets() == {0: list(range(50)), 1: list(range(50))}
    assert all(size <= 30 for size in job.batch_sizes)
    assert query.lastProgress is not None
    source = query.lastProgress["sources"][0]
    assert json.loads(source["latestOffset"])["offsets"] == {topic: {"0": 50, "1": 50}}

    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(30)
    eventually(lambda: len(admin.list_topics(topic).topics[topic].partitions) == 3, "a third partition")
    fill(bootstrap, topic, 30, 3, first=100)
    job.run()
    assert {part: len(offsets) for part, offsets in job.offsets().items()} == {0: 60, 1: 60, 2: 10}
    assert Counter(job.rows).most_common(1)[0][1] == 1
    assert sorted(int(value) for _, _, value in job.rows) == list(range(130))

    with ClusterClient(parse_addresses(bootstrap)) as cluster:
        groups = [found.group_id for found in list_groups(cluster) if found.group_id.startswith("shown-as-")]
        assert len(groups) == 1  # the same after the restart
        shown = committed_offsets(cluster, groups[0])
    # Spark tells a source of a batch's end when the next one begins, so the last may still be missing.
    assert shown[TopicPartition(topic, 0)].offset in range(30, 61)


def test_a_stream_that_stays_up_reads_what_comes_and_shows_it_in_its_group(
    bootstrap: str, new_topic: NewTopic, make_job: MakeJob
) -> None:
    topic = new_topic(1)
    fill(bootstrap, topic, 5, 1)
    job = make_job(subscribePattern=f"{topic}.*", **{"kafka.group.id": f"group-{topic}"})
    query = job.start(processingTime="0 seconds")
    try:
        eventually(lambda: len(job.rows) == 5, "the first rows", patience_s=PATIENCE_S)
        fill(bootstrap, topic, 5, 1, first=5)
        eventually(lambda: len(job.rows) == 10, "the next rows", patience_s=PATIENCE_S)
        fill(bootstrap, topic, 1, 1, first=10)
        eventually(lambda: len(job.rows) == 11, "the last row", patience_s=PATIENCE_S)
        with ClusterClient(parse_addresses(bootstrap)) as cluster:

            def shown() -> int | None:
                found = committed_offsets(cluster, f"group-{topic}").get(TopicPartition(topic, 0))
                return None if found is None else found.offset

            eventually(lambda: (shown() or 0) >= 10, "a committed position", patience_s=PATIENCE_S)
    finally:
        query.stop()
    assert [int(value) for _, _, value in job.rows] == list(range(11))


def test_limits_by_bytes(bootstrap: str, new_topic: NewTopic, make_job: MakeJob) -> None:
    topic = new_topic(1)
    produce_all(bootstrap, topic, [b"%0500d" % number for number in range(200)])
    job = make_job(subscribe=topic, maxBytesPerTrigger="30000")
    job.run()
    assert job.offsets() == {0: list(range(200))}
    assert 3 <= len(job.batch_sizes) <= 6


def test_a_topic_made_again_is_noticed(
    bootstrap: str, admin: AdminClient, new_topic: NewTopic, make_job: MakeJob
) -> None:
    """Also when the new one has grown beyond where the job stood in the old one."""
    topic = new_topic(1)
    fill(bootstrap, topic, 10, 1)
    job = make_job(subscribe=topic)
    job.run()
    admin.delete_topics([topic])[topic].result(30)
    eventually(lambda: topic not in admin.list_topics().topics, "the topic to be gone")
    create_topic(admin, topic, 1, {"retention.ms": "-1"})
    fill(bootstrap, topic, 25, 1, first=100)
    with pytest.raises(StreamingQueryException, match="was deleted and made again"):
        job.run()
    job.options["failOnDataLoss"] = "false"
    job.rows.clear()
    job.run()
    assert [int(value) for _, _, value in job.rows] == list(range(100, 125))


def test_options_that_are_wrong_are_told_before_the_query_starts(
    new_topic: NewTopic, make_job: MakeJob
) -> None:
    topic = new_topic(1)
    with pytest.raises(Exception, match=r"maxBytesPerTrigger.*whole number"):
        make_job(subscribe=topic, maxBytesPerTrigger="1MB").start()
