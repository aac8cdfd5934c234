"""Kafka's own DumpLogSegments reads compacted segments, their indexes and snapshots."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from tests.conformance.jvm.test_dump_log_segments import complaints, fields_of
from tests.conformance.test_compaction import (
    COMPACTED,
    EAGER,
    Newest,
    newest_of,
    records,
    wait_until_compacted,
)
from tests.support.broker_process import BrokerProcess
from tests.support.confluent import create_topic, produce_all
from tests.support.kafka_tools import KafkaTools, ToolRun

pytestmark = pytest.mark.xdist_group("kafka-tools")

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# The tool takes every hole for a mistake, in Kafka's compacted logs too.
HOLES = re.compile(r"Non-consecutive offsets in \S+\n(?:  -?\d+ is followed by \d+\n?)+")


@pytest.fixture(scope="module")
def compacted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Newest]]:
    """A log directory after a clean stop, and what its topics hold."""
    root = tmp_path_factory.mktemp("compacted")
    expected: dict[str, Newest] = {}
    with BrokerProcess(root / "data", EAGER) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        for number, codec in enumerate(CODECS):
            topic = create_topic(admin, codec, config=COMPACTED)
            settings = {"compression.type": codec, "batch.size": 5_000, "enable.idempotence": True}
            made = records(5_000, 400, number)
            expected[topic] = newest_of(produce_all(broker.bootstrap, topic, made, settings))
        for topic, newest in expected.items():
            wait_until_compacted(broker.bootstrap, topic, newest)
        assert broker.stop() == 0
    return shutil.copytree(root / "data" / "logs", root / "copy"), expected


def dump(tools: KafkaTools, files: list[Path], *flags: str) -> ToolRun:
    assert files
    return tools.run("kafka-dump-log", *flags, "--files", ",".join(map(str, files)))


def test_every_batch_and_record(compacted: tuple[Path, dict[str, Newest]], kafka_tools: KafkaTools) -> None:
    directory, expected = compacted
    for topic, newest in expected.items():
        files = sorted(directory.glob(f"{topic}-0/*.log"))
        run = dump(kafka_tools, files, "--deep-iteration")
        assert complaints(run._replace(err=HOLES.sub("", run.err))) == []
        found: dict[int, bool] = {}
        batches = []
        for line in run.lines:
            if line.startswith("baseOffset:"):
                batches.append(fields_of(line))
            elif line.startswith("|"):
                record = fields_of(line.removeprefix("| "))
                found[int(record["offset"])] = record["valueSize"] == "-1"
        assert found == {offset: value is None for offset, value in newest.values()}
        assert {batch["compresscodec"] for batch in batches if batch["count"] != "0"} == {topic}
        ends = [(int(batch["baseOffset"]), int(batch["lastOffset"])) for batch in batches]
        assert ends == sorted(ends)
        with_horizon = [batch for batch in batches if batch["deleteHorizonMs"] != "OptionalLong.empty"]
        assert with_horizon


def test_indexes_and_snapshots(compacted: tuple[Path, dict[str, Newest]], kafka_tools: KafkaTools) -> None:
    directory, _ = compacted
    indexes = sorted([*directory.glob("*-0/*.index"), *directory.glob("*-0/*.timeindex")])
    for flags in ([], ["--verify-index-only"], ["--index-sanity-check"]):
        assert complaints(dump(kafka_tools, indexes, *flags)) == []
    snapshots = sorted(directory.glob("*-0/*.snapshot"))
    assert complaints(dump(kafka_tools, snapshots)) == []
    assert not [path for path in directory.glob("*-0/*") if path.name.endswith((".cleaned", ".swap"))]


def test_kafka_itself_reads_how_far_the_logs_are_compacted(
    compacted: tuple[Path, dict[str, Newest]],
) -> None:
    directory, expected = compacted
    version, count, *lines = (directory / "cleaner-offset-checkpoint").read_text().splitlines()
    assert (version, count) == ("0", str(len(expected)))
    assert sorted(line.split(" ")[:2] for line in lines) == [[topic, "0"] for topic in sorted(expected)]
    assert {int(line.split(" ")[2]) for line in lines} == {5_000}
