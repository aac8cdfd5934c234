"""`spark.read.format("mainstem")`: the same rows, types and offsets as Spark's own Kafka connector."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual
from tests.spark.conftest import NewTopic
from tests.support.confluent import produce_all

from mainstem.client.addresses import parse_addresses
from mainstem.client.cluster import ClusterClient
from mainstem.wire.kafka.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)

START_MS = 1_700_000_000_000


def records(count: int, partitions: int = 1) -> list[dict[str, Any]]:
    """Keys and values of all kinds; the times are a second apart."""
    return [
        {
            "key": None if number % 3 == 0 else b"key %d" % number,
            "value": None if number % 7 == 0 else b"\x00\xff value %d " % number * (number % 5),
            "partition": number % partitions,
            "timestamp": START_MS + number * 1000,
            "headers": [(f"h{entry}", b"v%d" % number) for entry in range(number % 4)] or None,
        }
        for number in range(count)
    ]


def read(spark: SparkSession, source: str, bootstrap: str, **options: str) -> DataFrame:
    reader = spark.read.format(source).option("kafka.bootstrap.servers", bootstrap)
    return reader.options(**options).load()


def both(spark: SparkSession, bootstrap: str, **options: str) -> tuple[DataFrame, DataFrame]:
    ours = read(spark, "mainstem", bootstrap, **options)
    theirs = read(spark, "kafka", bootstrap, **options)
    return ours, theirs


def assert_same(spark: SparkSession, bootstrap: str, expected_count: int, **options: str) -> None:
    ours, theirs = both(spark, bootstrap, **options)
    assert ours.schema.simpleString() == theirs.schema.simpleString()
    assert ours.count() == expected_count
    assertDataFrameEqual(ours, theirs)


def values(frame: DataFrame) -> list[tuple[int, int]]:
    return sorted((row.partition, row.offset) for row in frame.select("partition", "offset").collect())


def told(caught: pytest.ExceptionInfo[PySparkException]) -> str:
    return str(caught.value)


def test_all_columns_are_those_of_the_kafka_source(
    spark: SparkSession, bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(3)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        produce_all(bootstrap, topic, records(60, 3), {"compression.type": codec})
    assert_same(spark, bootstrap, 300, subscribe=topic, includeHeaders="true")
    assert_same(spark, bootstrap, 300, subscribe=topic)


def test_append_time_and_null_headers(spark: SparkSession, bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(1, {"message.timestamp.type": "LogAppendTime"})
    produce_all(
        bootstrap, topic, [{"value": b"x", "headers": [("nothing", None), ("empty", b"")]}, {"value": b"y"}]
    )
    assert_same(spark, bootstrap, 2, subscribe=topic, includeHeaders="true")
    rows = read(spark, "mainstem", bootstrap, subscribe=topic).select("timestampType").collect()
    assert [row.timestampType for row in rows] == [1, 1]


def test_offsets_and_times_bound_a_read(spark: SparkSession, bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    produce_all(bootstrap, topic, records(100, 2))  # offsets 0 to 49 in each
    bounds: list[tuple[int, dict[str, str]]] = [
        (
            17 + 30,
            {
                "startingOffsets": json.dumps({topic: {"0": 3, "1": -2}}),
                "endingOffsets": json.dumps({topic: {"0": 20, "1": 30}}),
            },
        ),
        (50, {"startingOffsets": json.dumps({topic: {"0": 50, "1": -2}}), "endingOffsets": "latest"}),
        (70, {"startingTimestamp": str(START_MS + 30_000)}),
        (30, {"endingTimestamp": str(START_MS + 30_000)}),
        (
            20 + 10,
            {
                "startingOffsetsByTimestamp": json.dumps(
                    {topic: {"0": START_MS + 10_000, "1": START_MS + 10_000}}
                ),
                "endingOffsetsByTimestamp": json.dumps(
                    {topic: {"0": START_MS + 50_000, "1": START_MS + 30_000}}
                ),
            },
        ),
        (
            0,
            {
                "startingTimestamp": str(START_MS + 10**9),
                "startingOffsetsByTimestampStrategy": "latest",
            },
        ),
    ]
    for count, options in bounds:
        assert_same(spark, bootstrap, count, subscribe=topic, **options)


def test_a_time_younger_than_all_records_is_an_error(
    spark: SparkSession, bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(1)
    produce_all(bootstrap, topic, records(3))
    with pytest.raises(PySparkException) as caught:
        read(spark, "mainstem", bootstrap, subscribe=topic, startingTimestamp=str(START_MS + 10**9)).count()
    assert "startingTimestamp" in told(caught)
    assert "startingOffsetsByTimestampStrategy to latest" in told(caught)


def test_patterns_and_assignments(spark: SparkSession, bootstrap: str, new_topic: NewTopic) -> None:
    first, second = new_topic(2), new_topic(1)
    produce_all(bootstrap, first, records(20, 2))
    produce_all(bootstrap, second, records(5))
    assert_same(spark, bootstrap, 25, subscribe=f"{first},{second}")
    assert_same(spark, bootstrap, 25, subscribePattern=f"{first[:-2]}.*")
    assert_same(spark, bootstrap, 15, assign=json.dumps({first: [1], second: [0]}))


def test_ranges_are_split_over_tasks(spark: SparkSession, bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    produce_all(bootstrap, topic, records(100, 2))
    for options, parts in (({}, 2), ({"minPartitions": "5"}, 6), ({"maxRecordsPerPartition": "20"}, 6)):
        ours, theirs = both(spark, bootstrap, subscribe=topic, **options)
        assert ours.rdd.getNumPartitions() == parts
        assertDataFrameEqual(ours, theirs)


def test_an_empty_topic_reads_as_no_rows(spark: SparkSession, bootstrap: str, new_topic: NewTopic) -> None:
    assert read(spark, "mainstem", bootstrap, subscribe=new_topic(2)).count() == 0


def test_lost_records_are_an_error_or_passed_over(
    spark: SparkSession, bootstrap: str, new_topic: NewTopic
) -> None:
    topic = new_topic(1)
    produce_all(bootstrap, topic, records(50))
    delete_records(bootstrap, topic, 0, 30)
    options = {
        "subscribe": topic,
        "startingOffsets": json.dumps({topic: {"0": 10}}),
        "endingOffsets": json.dumps({topic: {"0": 60}}),
    }
    with pytest.raises(PySparkException) as caught:
        read(spark, "mainstem", bootstrap, **options).count()
    assert "records may have been lost" in told(caught)
    assert "startingOffsets has 10" in told(caught)
    assert "endingOffsets has 60" in told(caught)
    found = read(spark, "mainstem", bootstrap, failOnDataLoss="false", **options)
    assert values(found) == [(0, offset) for offset in range(30, 50)]


def delete_records(bootstrap: str, topic: str, partition: int, offset: int) -> None:
    with ClusterClient(parse_addresses(bootstrap)) as cluster:
        entry = DeleteRecordsPartition(partition_index=partition, offset=offset)
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name=topic, partitions=[entry])], timeout_ms=10_000
        )
        answer = cluster.ask_controller(request, DeleteRecordsResponse)
        assert answer.topics[0].partitions[0].error_code == 0


def test_headers_that_are_no_text(spark: SparkSession, bootstrap: str, new_topic: NewTopic) -> None:
    """Spark's strings are UTF-8; Java shows what is none with replacement characters."""
    topic = new_topic(1)
    produce_all(bootstrap, topic, [{"value": b"x", "headers": [("schlüssel", b"\xff")]}])
    assert_same(spark, bootstrap, 1, subscribe=topic, includeHeaders="true")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"subscribe": "no-such-topic"},
            ["no topic is there for subscribe=no-such-topic", "mainstem topic list"],
        ),
        (
            {"subscribe": "t", "startingOffset": "earliest"},
            ["'startingoffset'", "Did you mean startingOffsets?"],
        ),
        ({}, ["nothing says which topics to read", 'subscribe="t1,t2"']),
        ({"subscribe": "t", "endingOffsets": "earliest"}, ["endingOffsets", "cannot end at the earliest"]),
    ],
)
def test_wrong_options_name_option_and_cure(
    spark: SparkSession, bootstrap: str, options: dict[str, str], words: list[str]
) -> None:
    with pytest.raises(PySparkException) as caught:
        read(spark, "mainstem", bootstrap, **options).count()
    for word in words:
        assert word in told(caught)


def test_a_broker_that_is_not_there_is_named(spark: SparkSession, new_topic: NewTopic) -> None:
    with pytest.raises(PySparkException) as caught:
        read(spark, "mainstem", "127.0.0.1:1", subscribe=new_topic()).count()
    assert "cannot reach a broker at 127.0.0.1:1: connection refused" in told(caught)
