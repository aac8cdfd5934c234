"""`mainstem log`: what it says of whole files, and that no damage stays hidden or is told wrongly."""

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.logs import START_MS, append, batch_of, new_log

from mainstem.cli.errors import ExitCode
from mainstem.cli.main import command
from mainstem.config.topic_options import TopicConfig
from mainstem.core.groups.records import CommittedOffset, OffsetRecord, encode_record
from mainstem.log import journal_format
from mainstem.log.checkpoints import RECOVERY_POINTS, write_checkpoint
from mainstem.log.transaction_index import ENTRY as ABORTED_ENTRY
from mainstem.model.batch import parse_header
from mainstem.model.ids import TopicId, TopicPartition
from mainstem.model.records import NewRecord, build_batch
from mainstem.ports.disk import RealDisk

FIRST, SECOND = "00000000000000000000", "00000000000000000180"
BATCHES_PER_SEGMENT = 60
RECORDS_PER_BATCH = 3


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(command, ["log", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def verify(path: Path, *options: str) -> dict[str, Any]:
    code, stdout, _ = run("verify", path, "--json", *options)
    document: dict[str, Any] = json.loads(stdout)
    assert code == (ExitCode.FAILED if document["is_damaged"] else ExitCode.OK)
    return document


def dump(path: Path, *options: str) -> list[dict[str, Any]]:
    code, stdout, _ = run("dump", path, "--json", *options)
    assert code == ExitCode.OK
    return [json.loads(line) for line in stdout.splitlines()]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A log directory with one partition of two segments, as a clean stop leaves it."""
    log = new_log(str(tmp_path), TopicConfig(index_interval_bytes=500))
    for number in range(2 * BATCHES_PER_SEGMENT):
        if number == BATCHES_PER_SEGMENT:
            log.roll()
        values = [b"value %d" % at for at in range(RECORDS_PER_BATCH)]
        producer = (5, 0, number * RECORDS_PER_BATCH)
        append(log, batch_of(*values, time_ms=START_MS + 10 * number, producer=producer), epoch=number // 50)
    log.flush()
    log.close()
    write_checkpoint(RealDisk(), str(tmp_path), RECOVERY_POINTS, {log.topic_partition: log.log_end_offset})
    return tmp_path


@pytest.fixture
def partition(directory: Path) -> Path:
    return directory / "t-0"


def overwrite(path: Path, position: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        file.write(content)


def batch_positions(path: Path) -> list[int]:
    content = path.read_bytes()
    positions, position = [], 0
    while position < len(content):
        positions.append(position)
        position += parse_header(content, position).size_bytes
    return positions


# --- verify


def test_a_whole_directory_is_without_damage(directory: Path, partition: Path) -> None:
    for path in (directory, partition):
        document = verify(path)
        assert document["damage"] == []
        assert (document["partitions"], document["segments"]) == (1, 2)
        assert document["batches"] == 2 * BATCHES_PER_SEGMENT
        assert document["records"] == 2 * BATCHES_PER_SEGMENT * RECORDS_PER_BATCH
    code, stdout, stderr = run("verify", directory)
    assert (code, stderr) == (0, "")
    assert stdout.startswith("1 partition, 2 segments, 120 batches, 360 records, ")
    assert stdout.endswith(" bytes: no damage\n")


def only_damage(document: dict[str, Any]) -> dict[str, Any]:
    assert len(document["damage"]) == 1, document["damage"]
    damage: dict[str, Any] = document["damage"][0]
    assert damage["cure"]
    return damage


def test_a_flipped_bit_in_the_middle_is_found_with_position_offset_and_cure(partition: Path) -> None:
    path = partition / f"{FIRST}.log"
    positions = batch_positions(path)
    content = bytearray(path.read_bytes())
    content[positions[7] + 70] ^= 1
    path.write_bytes(content)
    damage = only_damage(verify(partition))
    assert damage["file"] == str(path)
    assert (damage["position"], damage["offset"]) == (positions[7], 21)
    assert "checksum of the batch from offset 21 is wrong" in damage["problem"]
    assert "Where another replica has them" in damage["cure"]
    code, _, stderr = run("verify", partition)
    assert code == ExitCode.FAILED
    assert stderr.startswith(f"damage: {path} at position {positions[7]}, offset 21: the checksum")


@pytest.mark.parametrize("which", range(61 + 20))
def test_no_flipped_byte_of_a_batch_stays_hidden(partition: Path, which: int) -> None:
    path = partition / f"{FIRST}.log"
    positions = batch_positions(path)
    content = bytearray(path.read_bytes())
    content[positions[7] + which] ^= 0x80
    path.write_bytes(content)
    damage = [found for found in verify(partition)["damage"] if found["kind"] == "segment"]
    # A base offset that moved shows at this batch or, if it looks like a gap, at the next.
    assert [found["position"] in (positions[7], positions[8]) for found in damage] == [True]


@pytest.mark.parametrize("cut", [1, 30, 61, 90])
def test_a_torn_tail_of_the_last_segment_says_that_a_start_mends_it(partition: Path, cut: int) -> None:
    path = partition / f"{SECOND}.log"
    positions = batch_positions(path)
    content = path.read_bytes()
    end = positions[-1] + min(cut, len(content) - positions[-1] - 1)
    path.write_bytes(content[:end])
    damage = [found for found in verify(partition)["damage"] if found["kind"] == "segment"]
    assert [(found["position"], found["offset"]) for found in damage] == [(positions[-1], 357)]
    assert "the next start cuts it off by itself" in damage[0]["cure"]


def test_a_torn_tail_of_an_earlier_segment_is_no_matter_of_a_start(partition: Path) -> None:
    path = partition / f"{FIRST}.log"
    path.write_bytes(path.read_bytes()[:-1])
    damage = [found for found in verify(partition)["damage"] if found["kind"] == "segment"]
    assert "Where another replica has them" in damage[0]["cure"]


def test_room_that_was_reserved_is_no_damage_in_the_last_segment_only(partition: Path) -> None:
    for name, is_damage in ((SECOND, False), (FIRST, True)):
        path = partition / f"{name}.log"
        path.write_bytes(path.read_bytes() + bytes(5000))
        document = verify(partition)
        assert document["is_damaged"] is is_damage
        assert document["reserved_bytes"] == 5000


def test_records_that_lie_are_found_unless_it_is_to_be_quick(partition: Path) -> None:
    from mainstem.model.records import seal_batch

    path = partition / f"{SECOND}.log"
    header = parse_header(path.read_bytes())
    liar = seal_batch(header._replace(record_count=3), b"\x0e" * 40)
    path.write_bytes(struct.pack(">qii", 180, len(liar) - 12, 1) + liar[16:])
    for index in partition.glob(f"{SECOND}.*index"):
        index.unlink()
    assert "cannot be read" in only_damage(verify(partition))["problem"]
    assert not verify(partition, "--quick")["is_damaged"]


def test_segments_that_overlap(partition: Path) -> None:
    for suffix in (".log", ".index", ".timeindex"):
        (partition / f"{SECOND}{suffix}").rename(partition / f"{'170'.zfill(20)}{suffix}")
    problems = [found["problem"] for found in verify(partition)["damage"] if found["kind"] == "segment"]
    assert "the segment's name is below 180" in problems[0]


def test_a_file_of_another_format_is_named_as_such(partition: Path) -> None:
    path = partition / f"{SECOND}.log"
    overwrite(path, 16, b"\x01")
    assert "a batch of format 1, known is 2" in verify(partition)["damage"][0]["problem"]


INDEX_DAMAGE: list[tuple[str, Callable[[bytes], bytes], str]] = [
    (".index", lambda raw: raw[:4] + struct.pack(">I", 7) + raw[8:], "middle of a batch"),
    (".index", lambda raw: raw[:8] + struct.pack(">I", 1) + raw[12:], "does not rise"),
    (".index", lambda raw: raw + struct.pack(">II", 10_000, 1 << 30), "behind the end of the log"),
    (".index", lambda raw: raw + b"\1", "last entry has 1 of 8 bytes"),
    (".index", lambda raw: struct.pack(">I", 0) + raw[4:], "comes too late"),
    (".timeindex", lambda raw: struct.pack(">q", START_MS - 5) + raw[8:], "greatest timestamp is"),
    (".timeindex", lambda raw: raw[:12] + raw[:12] + raw[24:], "does not rise"),
    (".timeindex", lambda raw: raw[:-12], "it ends at timestamp"),
    (".timeindex", lambda raw: raw + struct.pack(">qI", 2**60, 2**31), "behind the end of the log"),
]


@pytest.mark.parametrize(("suffix", "spoil", "told"), INDEX_DAMAGE)
def test_a_damaged_index_is_found_and_can_be_made_anew(
    partition: Path, suffix: str, spoil: Callable[[bytes], bytes], told: str
) -> None:
    path = partition / f"{FIRST}{suffix}"
    path.write_bytes(spoil(path.read_bytes()))
    damage = only_damage(verify(partition))
    assert damage["file"] == str(path)
    assert told in damage["problem"]
    assert "makes it anew from the log" in damage["cure"]


def test_the_zeros_that_kafka_reserves_in_indexes_are_no_entries(partition: Path) -> None:
    for suffix in (".index", ".timeindex"):
        path = partition / f"{SECOND}{suffix}"
        path.write_bytes(path.read_bytes() + bytes(24 * 1000))
    assert not verify(partition)["is_damaged"]


def test_an_index_without_a_segment(partition: Path) -> None:
    shutil.copy(partition / f"{FIRST}.index", partition / f"{'5'.zfill(20)}.index")
    assert "no segment of this name" in only_damage(verify(partition))["problem"]


def test_aborted_transactions_must_end_at_their_markers(partition: Path) -> None:
    path = partition / f"{FIRST}.txnindex"
    path.write_bytes(ABORTED_ENTRY.pack(0, 5, 10, 20, 10))
    assert "does not end at a marker of that producer" in only_damage(verify(partition))["problem"]
    path.write_bytes(ABORTED_ENTRY.pack(3, 5, 10, 20, 10))
    assert "has version 3, known is 0" in only_damage(verify(partition))["problem"]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("leader-epoch-checkpoint", b"0\n3\n0 0\n1 150\n", "3 entries announced, 2 found"),
        ("leader-epoch-checkpoint", b"0\n2\n1 0\n0 150\n", "does not rise"),
        (
            "leader-epoch-checkpoint",
            b"0\n1\n9 100\n",
            "gives offset 102 to epoch 9",
        ),
        ("partition.metadata", b"version: 0\n", "not readable"),
        ("partition.metadata", b"version: 7\ntopic_id: dC4uLi4uLi4uLi4uLi4uLg\n", "version 7"),
        (f"{SECOND}.snapshot", b"\0\1" + bytes(8), "checksum"),
        (f"{SECOND}.snapshot", b"", "not whole"),
    ],
)
def test_damage_beside_the_segments(partition: Path, name: str, content: bytes, told: str) -> None:
    assert (partition / name).exists()
    (partition / name).write_bytes(content)
    damage = only_damage(verify(partition))
    assert damage["file"] == str(partition / name)
    assert told in damage["problem"]


def test_a_promise_beyond_the_end_of_the_log_means_lost_records(directory: Path) -> None:
    write_checkpoint(RealDisk(), str(directory), RECOVERY_POINTS, {TopicPartition("t", 0): 400})
    damage = only_damage(verify(directory))
    assert "everything below offset 400 was on disk of t-0, which ends at 360" in damage["problem"]
    (directory / RECOVERY_POINTS).write_bytes(b"0\n2\nt 0 1\n")
    assert "1 of 2 entries" in only_damage(verify(directory))["problem"]
    (directory / RECOVERY_POINTS).write_bytes(b"")  # as Kafka makes it at first
    assert not verify(directory)["is_damaged"]


def test_the_first_damage_of_each_file_is_told(partition: Path) -> None:
    for name in (f"{FIRST}.log", f"{SECOND}.log"):
        for position in (batch_positions(partition / name)[3:5])[::-1]:
            overwrite(partition / name, position + 65, b"\xff\xff")
    found = verify(partition)["damage"]
    assert [(Path(damage["file"]).name, damage["offset"]) for damage in found] == [
        (f"{FIRST}.log", 9),
        (f"{SECOND}.log", 189),
    ]


def test_what_is_no_log_directory_is_wrong_usage(tmp_path: Path) -> None:
    code, _, stderr = run("verify", tmp_path)
    assert code == ExitCode.USAGE
    assert "holds no partitions" in stderr


# --- dump


def test_batches_are_shown_with_every_field_of_their_header(partition: Path) -> None:
    entries = dump(partition / f"{SECOND}.log")
    assert len(entries) == BATCHES_PER_SEGMENT
    first = entries[0]
    raw = (partition / f"{SECOND}.log").read_bytes()
    header = parse_header(raw)
    assert first == {
        "file": str(partition / f"{SECOND}.log"),
        "kind": "batch",
        "position": 0,
        "size_bytes": header.size_bytes,
        "base_offset": 180,
        "last_offset": 182,
        "record_count": 3,
        "codec": "none",
        "timestamp_type": "create",
        "base_timestamp": START_MS + 600,
        "max_timestamp": START_MS + 602,
        "delete_horizon": None,
        "leader_epoch": 1,
        "producer_id": 5,
        "producer_epoch": 0,
        "base_sequence": 180,
        "last_sequence": 182,
        "is_transactional": False,
        "is_control": False,
        "attributes": "0x0000",
        "crc": f"{header.crc:#010x}",
        "is_valid": True,
    }
    assert [entry["position"] for entry in entries] == batch_positions(partition / f"{SECOND}.log")


def test_lines_for_people(partition: Path) -> None:
    code, stdout, _ = run("dump", partition / f"{FIRST}.log", "--records", "--max", "2")
    assert code == 0
    heading, batch, record = stdout.splitlines()
    size = (partition / f"{FIRST}.log").stat().st_size
    assert heading == f"# {partition / f'{FIRST}.log'} (segment, {size} bytes)"
    assert batch.startswith("batch position=0 size_bytes=")
    assert "max_timestamp=2023-11-14T22:13:20.002Z" in batch
    assert record.split() == [
        "record",
        "offset=0",
        "timestamp=2023-11-14T22:13:20.000Z",
        "sequence=0",
        'key="k"',
        'value="value',
        '0"',
        "headers=[]",
    ]


def test_a_folder_is_shown_file_by_file(partition: Path) -> None:
    entries = dump(partition, "--from-offset", "300")
    kinds = [(Path(entry["file"]).name, entry["kind"]) for entry in entries]
    assert (f"{SECOND}.log", "batch") in kinds
    assert (f"{FIRST}.log", "batch") not in kinds
    assert (f"{SECOND}.index", "entry") in kinds
    assert ("leader-epoch-checkpoint", "epoch") in kinds
    producer = next(entry for entry in entries if entry["kind"] == "producer")
    assert (producer["producer_id"], producer["last_sequence"]) == (5, 179)
    metadata = next(entry for entry in entries if entry["kind"] == "metadata")
    assert metadata["topic_id"] == "dC4uLi4uLi4uLi4uLi4uLg"


def test_a_log_directory_shows_checkpoints_and_partitions(directory: Path) -> None:
    kinds = {entry["kind"] for entry in dump(directory)}
    assert kinds == {"batch", "entry", "producer", "epoch", "metadata", "checkpoint"}


def test_a_damaged_file_is_shown_up_to_the_damage(partition: Path) -> None:
    path = partition / f"{FIRST}.log"
    position = batch_positions(path)[2]
    overwrite(path, position + 65, b"\xff\xff")
    code, stdout, stderr = run("dump", path, partition / "partition.metadata", "--json")
    assert code == ExitCode.FAILED
    entries = [json.loads(line) for line in stdout.splitlines()]
    assert [entry.get("is_valid") for entry in entries] == [True, True, False, None]
    assert f"the checksum of the batch at {position} is wrong" in stderr


def test_offsets_of_groups_are_decoded(tmp_path: Path) -> None:
    log = new_log(str(tmp_path))
    committed = CommittedOffset(42, 3, "note", START_MS)
    records = [
        NewRecord(*encode_record(OffsetRecord("g", "orders", 1, committed)), timestamp_ms=START_MS),
        NewRecord(*encode_record(OffsetRecord("g", "orders", 2, None)), timestamp_ms=START_MS),
        NewRecord(b"\x7f\xff??", b"newer than this program", timestamp_ms=START_MS),
    ]
    append(log, build_batch(records))
    log.close()
    _, first, second, strange = dump(tmp_path / "t-0" / f"{FIRST}.log", "--offsets")
    assert first["decoded"]["kind"] == "offset-commit"
    assert first["decoded"]["key"] == {"group": "g", "topic": "orders", "partition": 1}
    assert first["decoded"]["value"]["offset"] == 42
    assert first["decoded"]["value"]["metadata"] == "note"
    assert second["decoded"]["value"] is None
    assert strange["value"] == "newer than this program"


def test_markers_of_transactions_are_decoded(tmp_path: Path) -> None:
    log = new_log(str(tmp_path))
    marker = NewRecord(b"\0\0\0\1", b"\0\0\0\0\0\x09", timestamp_ms=START_MS)
    append(
        log,
        build_batch([marker], is_control=True, is_transactional=True, producer_id=5, producer_epoch=0),
    )
    log.close()
    batch, record = dump(tmp_path / "t-0" / f"{FIRST}.log", "--records")
    assert batch["is_control"] is batch["is_transactional"] is True
    assert record["decoded"] == {"control": "commit", "coordinator_epoch": 9}


def test_rounds_of_the_journal_are_shown(tmp_path: Path) -> None:
    batch = batch_of(b"a", b"b")
    entries = [
        journal_format.JournalEntry(
            journal_format.APPEND,
            TopicId(b"t" * 16),
            4,
            10,
            12,
            len(batch),
            [struct.pack(">q", 10) + batch[8:]],
        ),
        journal_format.JournalEntry(journal_format.TRUNCATE, TopicId(b"u" * 16), 5, 7, 7, 0, []),
    ]
    rounds = [journal_format.build_round(9, number, 1, entries) for number in (1, 2)]
    path = tmp_path / "mainstem-journal-0"
    path.write_bytes(b"".join(bytes(part) for parts in rounds for part in parts) + bytes(8192))
    shown = dump(path, "--records")
    one_round = ["round", "append", "batch", "record", "record", "truncate"]
    assert [entry["kind"] for entry in shown] == one_round * 2
    assert (shown[0]["generation"], shown[0]["sequence"], shown[0]["entry_count"]) == (9, 1, 2)
    assert (shown[1]["base_offset"], shown[1]["next_offset"], shown[1]["partition"]) == (10, 12, 4)
    assert shown[2]["base_offset"] == 10
    assert shown[6]["position"] == 4096


def test_a_file_that_nobody_knows_is_wrong_usage(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("x")
    code, _, stderr = run("dump", path)
    assert code == ExitCode.USAGE
    assert "a file is known by its name" in stderr
    assert run("dump", tmp_path)[0] == ExitCode.USAGE
    assert run("dump", tmp_path / "absent")[0] == ExitCode.USAGE
    assert run("dump", "--offsets", "--transactions", path)[0] == ExitCode.USAGE
