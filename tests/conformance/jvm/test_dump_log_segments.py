"""Kafka's own DumpLogSegments reads what our broker wrote, and finds nothing to complain about.

One broker writes what the format knows: several segments, every codec by the client and by the broker,
idempotent producers, append time, deleted records, group offsets. Its directory is looked at three times:
while it runs, after a clean stop, and after a kill -9, a recovery and a stop.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.support.broker_process import BrokerProcess
from tests.support.kafka_tools import KafkaTools, ToolRun

pytestmark = pytest.mark.xdist_group("kafka-tools")

COMPLAINT = re.compile(
    r"mismatch|non-consecutive|found|out of order|invalid|isvalid: false|warn|error|exception|corrupt|fail",
    re.IGNORECASE,
)
# The tool expects offset 0 at the head of every file when it iterates deep, of Kafka's own files too.
FALSE_ALARM = re.compile(r"Non-consecutive offsets in \S+/(\d{20})\.log\n  -1 is followed by (\d+)\n(?!  )")
BASE_MS = 1_700_000_000_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
CODEC_RECORDS = 300
SEGMENTED_RECORDS = 4_000
GROUPS = {"readers": 1_000, "others": 17}
TRANSACTIONS = 12  # of two batches each; every third is aborted

TOPICS: dict[str, dict[str, str]] = {
    "segmented": {"segment.bytes": "1048576"},
    "append-time": {"message.timestamp.type": "LogAppendTime"},
    "shortened": {},
    "in-transactions": {},
    **{f"sent-{codec}": {} for codec in CODECS},
    **{f"stored-{codec}": {"compression.type": codec} for codec in CODECS if codec != "none"},
}
STORED_CODEC = {f"{how}-{codec}": codec for how in ("sent", "stored") for codec in CODECS}


@dataclass(frozen=True)
class Batch:
    file: Path
    fields: Mapping[str, str]
    records: list[Mapping[str, str]]


class Files:
    """A copy of the log directory at one moment, and the tool to look at it."""

    def __init__(self, directory: Path, tools: KafkaTools) -> None:
        self.directory = directory
        self._tools = tools

    def find(self, partition: str, suffix: str) -> list[Path]:
        return sorted(self.directory.glob(f"{partition}/*{suffix}"))

    def dump(self, files: list[Path], *flags: str) -> ToolRun:
        assert files
        return self._tools.run("kafka-dump-log", *flags, "--files", ",".join(map(str, files)))

    def dump_without_complaint(self, files: list[Path], *flags: str) -> str:
        dump = self.dump(files, *flags)
        assert complaints(dump) == []
        return dump.out

    def batches(self, partition: str, *flags: str) -> list[Batch]:
        batches: list[Batch] = []
        file = self.directory
        for line in self.dump_without_complaint(self.find(partition, ".log"), *flags).splitlines():
            if line.startswith("Dumping "):
                file = Path(line.removeprefix("Dumping "))
            elif line.startswith("baseOffset:"):
                batches.append(Batch(file, fields_of(line), []))
            elif line.startswith("|"):
                batches[-1].records.append(fields_of(line.removeprefix("| ")))
        return batches


def complaints(dump: ToolRun) -> list[str]:
    told = [line.replace("isvalid: true", "") for line in dump.lines if not line.startswith("| ")]
    errors = FALSE_ALARM.sub(lambda alarm: "" if int(alarm[1]) == int(alarm[2]) else alarm[0], dump.err)
    return [line for line in told if COMPLAINT.search(line)] + errors.splitlines()


def fields_of(line: str) -> dict[str, str]:
    """`name: value name: value`; a payload or key takes the rest of the line up to the next of the two."""
    return dict(re.findall(r"(\w+): (.*?)(?= \w+: |$)", line))


def write_everything(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = admin.create_topics([NewTopic(name, 1, 1, config=config) for name, config in TOPICS.items()])
    for future in made.values():
        future.result(30)
    for codec in CODECS:
        write_values(bootstrap, [f"sent-{codec}"], {"compression.type": codec, "enable.idempotence": True})
    stored = [topic for topic in TOPICS if topic.startswith("stored-")]
    write_values(bootstrap, ["append-time", "shortened", *stored], {"compression.type": "snappy"})
    write_segments(bootstrap)
    write_transactions(bootstrap)
    admin.delete_records([TopicPartition("shortened", 0, 200)])[TopicPartition("shortened", 0)].result(30)
    for group, offset in GROUPS.items():
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
        consumer.commit(offsets=[TopicPartition("segmented", 0, offset)], asynchronous=False)
        consumer.close()


def write_values(bootstrap: str, topics: list[str], settings: dict[str, str | bool]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, **settings})
    for topic in topics:
        for number in range(CODEC_RECORDS):
            headers = {"number": f"{number}"}
            producer.produce(topic, value(number), headers=headers, timestamp=BASE_MS + number)
    assert producer.flush(30) == 0


def write_transactions(bootstrap: str) -> None:
    """The last is left open, so that a restart finds it."""
    settings = {"bootstrap.servers": bootstrap, "transactional.id": "dumped", "linger.ms": 0}
    producer = Producer(settings)
    producer.init_transactions(30)
    for number in range(TRANSACTIONS + 1):
        producer.begin_transaction()
        for _ in range(2):
            producer.produce("in-transactions", value(number), timestamp=BASE_MS + number)
            assert producer.flush(30) == 0
        if number < TRANSACTIONS:
            (producer.commit_transaction if number % 3 else producer.abort_transaction)(30)


def value(number: int) -> str:
    return f"value {number} that repeats itself" * 3


def write_segments(bootstrap: str) -> None:
    """Timestamps go back now and then, so the time index has fewer entries than the offset index."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "batch.size": 10_000})
    chance = random.Random(7)
    for number in range(SEGMENTED_RECORDS):
        timestamp = BASE_MS + number * 10 - chance.randrange(3_000)
        producer.produce("segmented", chance.randbytes(800), timestamp=timestamp)
        producer.poll(0)
    assert producer.flush(30) == 0


@pytest.fixture(scope="module")
def moments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The log directory as it was at each moment."""
    root = tmp_path_factory.mktemp("dumped")
    data = root / "data"
    options = {"offsets.topic.num.partitions": "2", "num.partitions": "1"}

    def keep(moment: str) -> Path:
        return shutil.copytree(data / "logs", root / moment)

    with BrokerProcess(data, options) as broker:
        write_everything(broker.bootstrap)
        moments = {"running": keep("running")}
        assert broker.stop() == 0
        moments["stopped"] = keep("stopped")
        broker.start()
        write_segments(broker.bootstrap)
        broker.kill()
        broker.start()
        assert broker.stop() == 0
        moments["recovered"] = keep("recovered")
    return moments


@pytest.fixture(params=["running", "stopped", "recovered"])
def files(request: pytest.FixtureRequest, moments: dict[str, Path], kafka_tools: KafkaTools) -> Files:
    return Files(moments[request.param], kafka_tools)


@pytest.fixture
def stopped(moments: dict[str, Path], kafka_tools: KafkaTools) -> Files:
    return Files(moments["stopped"], kafka_tools)


@pytest.mark.parametrize("topic", sorted(STORED_CODEC.keys() & TOPICS.keys()))
def test_every_codec_deep(files: Files, topic: str) -> None:
    batches = files.batches(f"{topic}-0", "--deep-iteration", "--print-data-log")
    assert {batch.fields["compresscodec"] for batch in batches} == {STORED_CODEC[topic]}
    records = [record for batch in batches for record in batch.records]
    assert [int(record["offset"]) for record in records] == list(range(CODEC_RECORDS))
    assert [int(record["CreateTime"]) - BASE_MS for record in records] == list(range(CODEC_RECORDS))
    assert [record["payload"] for record in records] == [value(n) for n in range(CODEC_RECORDS)]


def test_segments_are_whole_and_follow_each_other(files: Files) -> None:
    batches = files.batches("segmented-0", "--deep-iteration")
    assert len({batch.file for batch in batches}) >= 4
    expected = 0
    for batch in batches:
        assert int(batch.fields["baseOffset"]) == expected
        expected = int(batch.fields["lastOffset"]) + 1
    assert expected % SEGMENTED_RECORDS == 0


def test_sequences_of_idempotent_producers(stopped: Files) -> None:
    batches = stopped.batches("segmented-0")
    (producer_id,) = {batch.fields["producerId"] for batch in batches}
    assert int(producer_id) >= 0
    assert [int(batch.fields["baseSequence"]) for batch in batches] == [
        int(batch.fields["baseOffset"]) for batch in batches
    ]


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_indexes_agree_with_their_logs(files: Files, suffix: str) -> None:
    indexes = files.find("*-0", suffix)
    text = files.dump_without_complaint(indexes)
    assert len(re.findall(r"^(?:offset|timestamp): ", text, re.MULTILINE)) > 100
    files.dump_without_complaint(indexes, "--verify-index-only")
    checked = files.dump_without_complaint(indexes, "--index-sanity-check")
    assert len(re.findall("passed sanity check|is empty", checked)) == len(indexes)


def test_damaged_index_and_log_are_noticed(stopped: Files, tmp_path: Path) -> None:
    """That the tool can complain, and that we would see it."""
    copied = shutil.copytree(stopped.directory / "segmented-0", tmp_path / "segmented-0")
    for suffix, place in ((".index", 100), (".timeindex", 200), (".log", 300_000)):
        victim = sorted(copied.glob(f"*{suffix}"))[0]
        content = bytearray(victim.read_bytes())
        content[place] ^= 0x55
        victim.write_bytes(content)
        assert complaints(stopped.dump([victim]))


def test_transactions(files: Files) -> None:
    """Markers in the log, the index of aborted transactions, and the open one in the snapshot."""
    batches = files.batches("in-transactions-0", "--deep-iteration")
    ends = [batch for batch in batches if batch.fields["isControl"] == "true"]
    told = [batch.records[0]["endTxnMarker"] for batch in ends]
    assert told == ["COMMIT" if number % 3 else "ABORT" for number in range(TRANSACTIONS)]
    assert all(batch.fields["isTransactional"] == "true" for batch in batches)
    text = files.dump_without_complaint(files.find("in-transactions-0", ".txnindex"))
    listed = [fields_of(line.replace(",", "")) for line in text.splitlines() if "producerId" in line]
    aborted = [int(batch.fields["baseOffset"]) for batch in ends[::3]]
    assert [int(entry["lastOffset"]) for entry in listed] == aborted
    assert [int(entry["firstOffset"]) for entry in listed] == [offset - 2 for offset in aborted]
    snapshot = fields_of(
        files.dump_without_complaint(files.find("in-transactions-0", ".snapshot")[-1:]).splitlines()[-1]
    )
    assert snapshot["producerId"] == batches[0].fields["producerId"]


def test_append_time(files: Files) -> None:
    batches = files.batches("append-time-0", "--deep-iteration", "--print-data-log")
    assert all(int(batch.fields["LogAppendTime"]) > BASE_MS + 10**9 for batch in batches)
    assert sum(len(batch.records) for batch in batches) == CODEC_RECORDS


def test_producer_snapshots(files: Files) -> None:
    """The newest snapshot says what the log says of its producers' last batches."""
    snapshot = files.find("segmented-0", ".snapshot")[-1]
    text = files.dump_without_complaint([snapshot])
    told = {
        line["producerId"]: (line["lastSequence"], line["lastOffset"], line["firstSequence"])
        for line in map(fields_of, text.splitlines())
        if "producerId" in line
    }
    written = {}
    for batch in files.batches("segmented-0"):
        if int(batch.fields["lastOffset"]) < int(snapshot.stem):
            last = (batch.fields["lastSequence"], batch.fields["lastOffset"], batch.fields["baseSequence"])
            written[batch.fields["producerId"]] = last
    assert told == written


def test_offsets_and_groups(files: Files) -> None:
    logs = [log for log in files.find("__consumer_offsets-*", ".log") if log.stat().st_size]
    text = files.dump_without_complaint(logs, "--offsets-decoder")
    committed = {}
    for key, value in re.findall(r"key: (\{.*?\}) payload: (\{.*\})$", text, re.MULTILINE):
        of, is_now = json.loads(key), json.loads(value)
        if of["type"] == "1":
            data = of["data"]
            committed[data["group"], data["topic"], data["partition"]] = is_now["data"]["offset"]
    assert committed == {(group, "segmented", 0): offset for group, offset in GROUPS.items()}


def test_no_file_is_left_out(files: Files) -> None:
    """What lies in a partition's directory is what Kafka knows, under Kafka's names."""
    numbered = re.compile(r"\d{20}\.(log|index|timeindex|txnindex|snapshot)")
    named = {"partition.metadata", "leader-epoch-checkpoint"}
    found = {file.name for file in files.directory.glob("*-*/*")}
    assert [name for name in found - named if not numbered.fullmatch(name)] == []
