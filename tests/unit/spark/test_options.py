"""Options of the source: what is taken, and that what is wrong is told with its cure."""

from __future__ import annotations

from typing import Any

import pytest

from mainstem.model.ids import TopicPartition
from mainstem.spark.errors import InvalidOption
from mainstem.spark.options import EARLIEST, LATEST, Bound, SourceOptions, Subscription, source_options

NEEDED = {"kafka.bootstrap.servers": "b:1", "subscribe": "t"}


def batch(**given: str) -> SourceOptions:
    return source_options({**NEEDED, **given}, is_streaming=False)


def stream(**given: str) -> SourceOptions:
    return source_options({**NEEDED, **given}, is_streaming=True)


def test_defaults_are_those_of_the_kafka_source_but_for_isolation() -> None:
    found = batch()
    assert found.start == Bound(everywhere=EARLIEST)
    assert found.end == Bound(everywhere=LATEST, latest_where_too_young=True)
    assert stream().start.everywhere == LATEST
    assert found.read_committed
    assert found.fail_on_data_loss
    assert not found.with_headers
    assert found.patience_s == 120
    assert stream().max_trigger_delay_ms == 15 * 60_000
    assert stream().commits_to_group


def test_names_are_read_without_regard_to_case() -> None:
    found = batch(STARTINGOFFSETS="latest", includeheaders="TRUE", faILOnDataLoss=" false ")
    assert found.start.everywhere == LATEST
    assert found.with_headers
    assert not found.fail_on_data_loss


def test_the_three_ways_to_subscribe() -> None:
    base = {"kafka.bootstrap.servers": "b:1"}
    for given, expected in (
        ({"subscribe": "a, b,a"}, Subscription(topics=("a", "b"))),
        ({"subscribePattern": "t.*"}, Subscription(pattern="t.*")),
        (
            {"assign": '{"b":[1,0],"a":[2]}'},
            Subscription(partitions=(TopicPartition("a", 2), TopicPartition("b", 0), TopicPartition("b", 1))),
        ),
    ):
        assert source_options({**base, **given}, is_streaming=False).subscription == expected


def test_bounds() -> None:
    part = TopicPartition("t", 0)
    assert batch(startingOffsets='{"t":{"0":-2}}').start.offsets == {part: EARLIEST}
    assert batch(endingOffsets='{"t":{"0":-1}}').end.offsets == {part: LATEST}
    assert batch(startingTimestamp="12").start.timestamp_ms == 12
    assert batch(startingOffsetsByTimestamp='{"t":{"0":5}}').start.timestamps_ms == {part: 5}
    strategy = batch(startingTimestamp="1", startingOffsetsByTimestampStrategy="latest")
    assert strategy.start.latest_where_too_young
    assert not batch(startingTimestamp="1").start.latest_where_too_young


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [("500", 500), ("500ms", 500), ("30s", 30_000), ("15m", 900_000), ("1 h", 3_600_000)],
)
def test_spans_of_time(text: str, expected_ms: int) -> None:
    assert stream(maxTriggerDelay=text).max_trigger_delay_ms == expected_ms


def test_isolation_under_both_names() -> None:
    assert not batch(isolation="read_uncommitted").read_committed
    assert not batch(**{"kafka.isolation.level": "READ_UNCOMMITTED"}).read_committed
    assert batch(**{"kafka.isolation.level": "read_committed", "isolation": "read_committed"}).read_committed


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kafka.bootstrap.servers": ""}, ["kafka.bootstrap.servers", "missing", "HOST:PORT"]),
        ({"subscribe": ""}, ["nothing says which topics"]),
        ({"subscribe": " , "}, ["names no topic"]),
        ({"subscribePattern": "x"}, ["subscribePattern", "subscribe is set too"]),
        ({"subscribe": "", "subscribePattern": "("}, ["no regular expression"]),
        ({"subscribe": "", "assign": "[1]"}, ["assign", "no JSON object", '{"topic":[0,1]}']),
        ({"subscribe": "", "assign": '{"t":["0"]}'}, ["assign", "list of partition numbers"]),
        ({"subscribe": "", "assign": "{}"}, ["assign", "names no partition"]),
        ({"startingOffsets": "erliest"}, ["startingOffsets", "'erliest'", "no JSON"]),
        ({"startingOffsets": '{"t":{"0":-3}}'}, ["startingOffsets", "-3"]),
        ({"startingOffsets": '{"t":{"x":1}}'}, ["startingOffsets", "'x'"]),
        ({"startingOffsets": '{"t":{"0":true}}'}, ["startingOffsets", "True"]),
        ({"startingOffsets": '{"t":[0]}'}, ["object of partitions"]),
        ({"endingOffsets": "earliest"}, ["endingOffsets", "cannot end at the earliest"]),
        ({"endingOffsets": '{"t":{"0":-2}}'}, ["endingOffsets", "cannot end at the earliest"]),
        ({"startingTimestamp": "yesterday"}, ["startingTimestamp", "'yesterday'", "whole number"]),
        ({"startingTimestamp": "-1"}, ["startingTimestamp", "out of range"]),
        ({"startingOffsetsByTimestampStrategy": "maybe"}, ["error or latest"]),
        ({"failOnDataLoss": "maybe"}, ["failOnDataLoss", "true or false"]),
        ({"minPartitions": "0"}, ["minPartitions", "1 or more"]),
        ({"isolation": "serializable"}, ["isolation", "read_committed or read_uncommitted"]),
        (
            {"isolation": "read_committed", "kafka.isolation.level": "read_uncommitted"},
            ["isolation", "kafka.isolation.level says read_uncommitted"],
        ),
        ({"kafka.security.protocol": "SASL_SSL"}, ["kafka.sasl.mechanism", "missing"]),
        ({"kafka.sasl.mechanism": "PLAIN"}, ["kafka.sasl.mechanism", "PLAINTEXT, which has no use for it"]),
        ({"kafka.ssl.truststore.password": "x"}, ["kafka.ssl.truststore.password", "PEM"]),
        ({"kafka.auto.offset.reset": "earliest"}, ["auto.offset.reset", "Use startingOffsets"]),
        ({"kafka.session.timeout.ms": "1"}, ["kafka.session.timeout.ms", "leave it out"]),
        ({"maxOffsetPerTrigger": "5"}, ["Did you mean maxOffsetsPerTrigger?"]),
        ({"zzz": "5"}, ["docs/spark.md"]),
        ({"maxOffsetsPerTrigger": "5"}, ["maxOffsetsPerTrigger", "belongs to readStream"]),
    ],
)
def test_what_is_wrong_names_option_value_and_cure(given: dict[str, str], words: list[str]) -> None:
    with pytest.raises(InvalidOption) as caught:
        batch(**given)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"endingOffsets": "latest"}, ["endingOffsets", "belongs to read, not to readStream"]),
        ({"maxTriggerDelay": "soon"}, ["maxTriggerDelay", "'soon'", "15m"]),
        ({"maxBytesPerTrigger": "1MB"}, ["maxBytesPerTrigger", "whole number"]),
    ],
)
def test_what_is_wrong_in_a_stream(given: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(InvalidOption) as caught:
        stream(**given)
    for word in words:
        assert word in str(caught.value)
