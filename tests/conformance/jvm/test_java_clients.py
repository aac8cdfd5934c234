"""Java's own Kafka client, in the two major versions that are in use.

The program in tests/java/clients uses the client in every way that its checks know, in one start of the
JVM per version, and says what it saw; here it is judged. `SEEN` holds what every check must have seen,
to the letter; a check whose sight has times or free choices in it has a test of its own below.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from tests.support import jvm

CLIENTS = [
    pytest.param(name, id=name, marks=pytest.mark.xdist_group(name))
    for name in ("kafka-clients-3", "kafka-clients-4")
]
RUN_TIMEOUT_S = 200


def round_trip(count: int) -> dict[str, object]:
    return {"sent": count, "read": count, "differing": 0, "first offset": 0, "known offsets": True}


def rebalanced(assignor: str, kept: int) -> dict[str, object]:
    return {
        "alone": [6],
        "three": [2, 2, 2],
        "kept by a": kept,
        "two": [3, 3],
        "described": [2, assignor],
        "read": 180,
        "read twice": 0,
        "afterwards": "Empty",
    }


GROUPS: dict[str, Any] = {
    "group_Range": rebalanced("range", kept=0),
    "group_RoundRobin": rebalanced("roundrobin", kept=0),
    "group_Sticky": rebalanced("sticky", kept=0),
    "group_CooperativeSticky": rebalanced("cooperative-sticky", kept=2),
    "group_static": {
        "shares": [3, 3],
        "same partitions": True,
        "same generation": True,
        "others disturbed": 0,
        "instances": ["first", "second"],
    },
    "group_fenced": {"older": "FencedInstanceIdException", "newer": 1},
    "group_grown_topic": {"before": [1, 1], "after": [3, 3], "read": 10},
    "group_kicked_out": {"late commit": "CommitFailedException", "reads again from": 0},
    "group_admin_offsets": {
        "written": ["0=5 ", "1=7 seven"],
        "state": "Empty",
        "asked": 5,
        "never set": None,
        "nobody's": 0,
        "one deleted": ["0=5 "],
        "deleted": [],
    },
    "group_admin_describe": {
        "state": "Stable",
        "simple": False,
        "assignor": "range",
        "coordinator": 1,
        "clients": ["one on /127.0.0.1", "two on /127.0.0.1"],
        "instances": ["second"],
        "assigned": 4,
        "listed": True,
        "listed as stable": True,
        "listed as empty": False,
        "listed as modern": False,
    },
    "group_admin_refusals": {
        "delete unknown": "GroupIdNotFoundException",
        "delete active": "GroupNotEmptyException",
        "alter active": "UnknownMemberIdException",
        "delete subscribed offsets": "GroupSubscribedToTopicException",
        "delete when empty": "none",
    },
    "group_admin_remove": {
        "after close": "Stable",
        "unknown": "UnknownMemberIdException",
        "known": "none",
        "after removal": "Empty",
    },
}

RECORDS: dict[str, Any] = {
    "produce_codecs": {codec: round_trip(1_500) for codec in ("none", "gzip", "snappy", "lz4", "zstd")},
    "produce_acks": {
        "0": {**round_trip(400), "first offset": -1, "known offsets": False},
        "1": round_trip(400),
        "all": round_trip(400),
    },
    "produce_in_flight": round_trip(10_000),
    "produce_odd_records": {"read": 4, "differing": 0},
    "produce_append_time": {"type": "LogAppendTime", "is now": True, "answered as stored": True},
    "produce_recompression": {
        change: round_trip(300)
        for change in ("none zstd", "gzip lz4", "lz4 snappy", "zstd gzip", "snappy uncompressed")
    },
    "produce_large": {"read": 3, "whole": True},
    "produce_split": {"sent": 2_000, "read": 2_000, "differing": 0, "was split": True},
    "produce_refusals": {
        "too large": "RecordTooLargeException",
        "no key": "InvalidRecordException",
        "too old": "InvalidTimestampException",
        "too new": "InvalidTimestampException",
        "bad name": "InvalidTopicException",
        "after them": "none",
        "stored": 1,
    },
    "produce_creates_topic": {"read": 1},
    "consume_positions": {
        "beginning": 0,
        "end": 100,
        "after seek": 40,
        "at beginning": 0,
        "at end": 100,
        "after seek with epoch": 70,
        "last": "value-99",
        "epoch": 0,
        "lag": 0,
    },
    "consume_by_time": {
        "-5000": [0, 0],
        "0": [0, 0],
        "1234": [124, 1240],
        "4990": [499, 4990],
        "5000": None,
    },
    "consume_resets": {
        "unset, earliest": 20,
        "5, earliest": 20,
        "20, earliest": 20,
        "50000, earliest": 20,
        "unset, none": "NoOffsetForPartitionException",
        "5, none": "OffsetOutOfRangeException",
        "20, none": 20,
        "50000, none": "OffsetOutOfRangeException",
    },
    "consume_paused": {"while paused": 10, "after resume": 10},
    "consume_pattern": {"old": 5, "new": 5, "assigned": 3},
    "consume_committed_only": {"read": 200, "end": 200},
    "consume_commits": {
        "offset": 12,
        "note": "a note",
        "epoch": 0,
        "never": None,
        "goes on at": 12,
        "note too long": "OffsetMetadataTooLarge",
    },
    "consume_many_partitions": {"read": [f"round {number}" for number in range(20)]},
}

ADMINISTRATION: dict[str, Any] = {
    "topic_refusals": {
        "exists": "TopicExistsException",
        "name": "InvalidTopicException",
        "long name": "InvalidTopicException",
        "partitions": "InvalidPartitionsException",
        "replicas": "InvalidReplicationFactorException",
        "assignment": "InvalidReplicaAssignmentException",
        "gap": "InvalidReplicaAssignmentException",
        "option": "InvalidConfigurationException",
        "value": "InvalidConfigurationException",
        "number": "InvalidConfigurationException",
        "unknown": "UnknownTopicOrPartitionException",
        "unknown id": "UnknownTopicIdException",
    },
    "topic_describe": {
        "leaders": [1, 1, 1, 1],
        "internal": False,
        "same by id": True,
        "operations": True,
        "offsets hidden": True,
    },
    "topic_pages": {"counts": [5, 3, 1], "ordered": True},
    "topic_grow": {
        "partitions": 5,
        "read": 6,
        "shrink": "InvalidPartitionsException",
        "same": "InvalidPartitionsException",
        "unknown": "UnknownTopicOrPartitionException",
        "assignment": "InvalidReplicaAssignmentException",
    },
    "topic_delete": {
        "listed": False,
        "again": "UnknownTopicOrPartitionException",
        "new id": True,
        "first offset": 0,
        "old id": "UnknownTopicIdException",
        "by id": "none",
    },
    "config_topic": {
        "first": ["1000000", "DYNAMIC_TOPIC_CONFIG"],
        "default source": "DEFAULT_CONFIG",
        "set": "2000000",
        "appended": ["compact", "delete"],
        "subtracted": "compact",
        "deleted": ["604800000", "DEFAULT_CONFIG"],
        "after trial": "2097152",
        "type": "INT",
        "documented": True,
        "synonyms": ["segment.bytes=2097152", "log.segment.bytes=1073741824"],
    },
    "config_refusals": {
        "option": "InvalidConfigurationException",
        "value": "InvalidConfigurationException",
        "range": "InvalidConfigurationException",
        "append to number": "InvalidConfigurationException",
        "topic": "UnknownTopicOrPartitionException",
        "fixed at start": "InvalidRequestException",
        "describe topic": "UnknownTopicOrPartitionException",
        "untouched": "delete",
    },
    "config_broker": {
        "node.id": "1",
        "read only": True,
        "log.segment.bytes": "1073741824",
        "has message.max.bytes": True,
    },
    "config_broker_default": {"before": "60000", "during": ["123456", "DYNAMIC_DEFAULT_BROKER_CONFIG"]},
    "cluster_offsets": {
        "earliest": [0, -1],
        "latest": [5, -1],
        "max timestamp": [2, 2_000],
        "at 600": [2, 2_000],
        "at 9000": [-1, -1],
        "earliest local": [0, -1],
        "latest tiered": [-1, -1],
        "empty max timestamp": [-1, -1],
        "empty latest": [0, -1],
    },
    "cluster_delete_records": {
        "low watermark": 40,
        "earliest": 40,
        "first read": 40,
        "lower again": 40,
        "beyond the end": "OffsetOutOfRangeException",
        "all": 100,
    },
    "cluster_log_dirs": {
        "size is sensible": True,
        "future": False,
        "error": "null",
        "total known": True,
        "usable known": True,
        "same directory": True,
    },
    "cluster_leaders": {
        "preferred": "ElectionNotNeededException",
        "unclean": "ElectionNotNeededException",
        "unknown": "UnknownTopicOrPartitionException",
        "all": 0,
        "moving": 0,
        "moving here": 0,
        "cancel": "NoReassignmentInProgressException",
    },
    "cluster_metrics": {
        "record-error-total": 0.0,
        "record-retry-total": 0.0,
        "produce-throttle-time-max": 0.0,
    },
}

TRANSACTIONS: dict[str, Any] = {
    "transactions_ends": {"committed": 30, "aborted": 0, "all": 61},
    "transactions_fencing": {"zombie": "ProducerFencedException", "read": ["newer"]},
    "transactions_admin": {
        "before": "Empty",
        "open": "Ongoing",
        "partitions": "[T-1]",
        "time-out": 60_000,
        "has begun": True,
        "listed": True,
        "fenced": "ProducerFencedException",
        "after": "Empty",
        "unknown": "TransactionalIdNotFoundException",
    },
    "transactions_features": {"finalized": 2},
}

SEEN = {**GROUPS, **RECORDS, **ADMINISTRATION, **TRANSACTIONS}
JUDGED_BELOW = {"group_expired", "consume_limits", "consume_waits", "topic_create", "cluster_describe"}


class Report:
    def __init__(self, outcomes: dict[str, Any]) -> None:
        self.outcomes = outcomes

    def saw(self, check: str) -> Any:
        outcome = self.outcomes[check]
        if "failure" in outcome:
            pytest.fail(f"{check} ended with an error:\n{outcome['failure'][:4000]}", pytrace=False)
        return outcome["saw"]


@pytest.fixture(scope="module", params=CLIENTS)
def report(request: pytest.FixtureRequest, bootstrap: str) -> Report:
    label = f"{request.param}-{uuid.uuid4().hex[:6]}"
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
    done = jvm.java(
        request.param,
        "mainstem.checks.Main",
        bootstrap,
        label,
        flags=(*jvm.QUICK_START, quiet),
        timeout_s=RUN_TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return Report(json.loads(done.stdout))


@pytest.mark.parametrize("check", SEEN)
def test_sees_what_kafka_shows(report: Report, check: str) -> None:
    assert report.saw(check) == SEEN[check]


def test_every_check_is_judged(report: Report) -> None:
    assert set(report.outcomes) == set(SEEN) | JUDGED_BELOW


def test_member_that_stays_away_loses_its_partitions(report: Report) -> None:
    saw = report.saw("group_expired")
    assert saw["shares"] == [6]
    assert 1_000 < saw["after ms"] < 10_000  # its session is 1,500 ms


def test_reads_everything_in_small_fetches(report: Report) -> None:
    saw = report.saw("consume_limits")
    assert saw["read"] == 2_000
    assert 1 <= saw["largest poll"] <= 7


def test_fetch_at_the_end_waits_for_a_record_or_its_time(report: Report) -> None:
    saw = report.saw("consume_waits")
    assert saw["read"] == 1
    assert (
        250 <= saw["woken after ms"] < 1_500
    )  # the record came after 300 ms, the time would be up after 3,000
    assert saw["read at time-out"] == 1
    assert 700 <= saw["time-out after ms"] < 2_500


def test_created_topics_are_as_asked_for(report: Report) -> None:
    saw = report.saw("topic_create")
    configured = saw.pop("configured")
    assert saw == {
        "partitions": [3, 2],
        "replicas": 1,
        "same id": True,
        "trial partitions": 2,
        "listed": [True, True, False],
    }
    assert configured["retention.ms"] == "1234567"
    assert configured["cleanup.policy"] == "compact"


def test_cluster_describes_itself(report: Report) -> None:
    saw = report.saw("cluster_describe")
    assert len(saw["id"]) == 22
    assert saw["controller"] == 1
    assert saw["nodes"] == ["1@127.0.0.1"]
