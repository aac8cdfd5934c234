"""Files cut, flipped or missing in every way: a prefix of the log comes back, whole and right."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from tests.support.logs import append, batch_of, new_log, recovered, values_in

from mainstem.config.topic_options import TopicConfig
from mainstem.log.leader_epochs import EpochStart
from mainstem.log.partition_log import PartitionLog

CONFIG = TopicConfig(index_interval_bytes=100)


def values(count: int, seed: int = 7) -> list[bytes]:
    chance = random.Random(seed)
    return [chance.randbytes(chance.choice([0, 5, 40, 90])) for _ in range(count)]


def filled(folder: Path, count: int = 40, config: TopicConfig = CONFIG) -> PartitionLog:
    log = new_log(str(folder), config)
    for number, value in enumerate(values(count)):
        append(log, batch_of(value, time_ms=1_000 + number, producer=(9, 0, number)))
    return log


def log_file(log: PartitionLog, number: int = -1) -> Path:
    return Path(log.segments[number].log_path)


def check_prefix(log: PartitionLog, expected: list[bytes], end_offset: int) -> None:
    assert log.log_end_offset == end_offset
    assert values_in(log) == dict(enumerate(expected[:end_offset]))
    for offset in range(end_offset):
        found = log.locate(offset, 1, end_offset, at_least_one=True)
        assert found is not None
    if end_offset:
        at = log.offset_for_timestamp(1_000 + end_offset - 1)
        assert at is not None
        assert at.offset == end_offset - 1
        newest = log.offset_of_max_timestamp()
        assert newest is not None
        assert newest.offset == end_offset - 1
        producer = log.producers.get(9)
        assert producer is not None
        assert producer.last_sequence == end_offset - 1


@pytest.mark.parametrize("recovery_point", [0, 25, 39])
def test_a_cut_at_every_byte_of_the_last_batches(tmp_path: Path, recovery_point: int) -> None:
    log = filled(tmp_path / "whole")
    log.active.write_indexes()
    expected = values(40)
    content = log_file(log).read_bytes()
    positions = [span_position(log, offset) for offset in range(40)]
    start = positions[max(35, recovery_point)]
    for cut in range(start, len(content) + 1):
        folder = tmp_path / "cut" / "t-0"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(log.directory, folder)
        with open(folder / log_file(log).name, "r+b") as file:
            file.truncate(cut)
        whole = sum(1 for position in [*positions[1:], len(content)] if position <= cut)
        again = reopened(log, folder, recovery_point)
        check_prefix(again, expected, whole)
        assert os.path.getsize(again.active.log_path) == again.active.size_bytes


def span_position(log: PartitionLog, offset: int) -> int:
    span = log.active.find(offset)
    assert span is not None
    return span.position


def reopened(log: PartitionLog, folder: Path, recovery_point: int) -> PartitionLog:
    from tests.support.logs import storage_on

    from mainstem.log.loading import LogPlace, recover_log

    place = LogPlace(str(folder), log.topic_partition, log.topic_id, log.config)
    return recover_log(storage_on(), place, recovery_point=recovery_point, log_start_offset=0)


@pytest.mark.parametrize("seed", range(60))
def test_a_flipped_bit_ends_the_log_before_its_batch(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    log = filled(tmp_path)
    expected = values(40)
    content = bytearray(log_file(log).read_bytes())
    # Base offset and leader epoch are under no checksum, in Kafka's format as in ours that is the same one.
    position = chance.randrange(len(content))
    starts = [span_position(log, offset) for offset in range(40)]
    damaged = max(number for number, start in enumerate(starts) if start <= position)
    if not 8 <= position - starts[damaged] < 12 and position - starts[damaged] < 16:
        position = starts[damaged] + 20
    content[position] ^= 1 << chance.randrange(8)
    log_file(log).write_bytes(content)
    again = recovered(log, recovery_point=0)
    check_prefix(again, expected, damaged)


@pytest.mark.parametrize("damage", ["missing", "empty", "torn", "zeros", "garbage"])
@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("recovery_point", [0, 39])
@pytest.mark.parametrize("number", [0, 1, -1])
def test_indexes_are_made_anew(
    tmp_path: Path, damage: str, suffix: str, recovery_point: int, number: int
) -> None:
    log = new_log(str(tmp_path), CONFIG)
    for count, value in enumerate(values(40)):
        if count in (12, 24):
            log.roll()
        append(log, batch_of(value, time_ms=1_000 + count, producer=(9, 0, count)))
    log.active.write_indexes()
    path = log_file(log, number).with_suffix(suffix)
    content = path.read_bytes()
    match damage:
        case "missing":
            path.unlink()
        case "empty":
            path.write_bytes(b"")
        case "torn":
            path.write_bytes(content[:-3])
        case "zeros":
            path.write_bytes(bytes(len(content)))
        case "garbage":
            path.write_bytes(random.Random(1).randbytes(len(content)))
    again = recovered(log, recovery_point=recovery_point)
    if recovery_point and number != -1 and damage in ("zeros", "garbage"):
        # A segment below the recovery point was stored whole with its indexes; only a glance is spent on it.
        assert values_in(again) == dict(enumerate(values(40)))
    else:
        check_prefix(again, values(40), 40)


def test_a_torn_middle_segment_ends_the_log_and_the_rest_is_put_aside(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)
    for count, value in enumerate(values(30)):
        if count in (10, 20):
            log.roll()
        append(log, batch_of(value, time_ms=1_000 + count, producer=(9, 0, count)))
    path = log_file(log, 1)
    path.write_bytes(path.read_bytes()[:-1])
    again = recovered(log, recovery_point=0)
    check_prefix(again, values(30), 19)
    assert [segment.base_offset for segment in again.segments] == [0, 10]
    append(again, batch_of(b"after", time_ms=2_000, producer=(9, 0, 19)))
    assert values_in(again)[19] == b"after"


def test_leader_epochs_come_back_from_the_batches(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)
    for epoch, value in [(0, b"a"), (0, b"b"), (3, b"c"), (5, b"d"), (5, b"e")]:
        append(log, batch_of(value), epoch=epoch)
    again = recovered(log, recovery_point=0)
    assert again.epochs.entries == (EpochStart(0, 0), EpochStart(3, 2), EpochStart(5, 3))


def test_the_log_start_stays_inside_the_log(tmp_path: Path) -> None:
    log = filled(tmp_path, 10)
    assert recovered(log, recovery_point=0, log_start_offset=4).log_start_offset == 4
    assert recovered(log, recovery_point=0, log_start_offset=400).log_start_offset == 10


def test_recovering_twice_changes_nothing(tmp_path: Path) -> None:
    log = filled(tmp_path, 30)
    path = log_file(log)
    path.write_bytes(path.read_bytes()[:-7])
    once = recovered(log, recovery_point=0)
    files = {name: (Path(log.directory) / name).read_bytes() for name in os.listdir(log.directory)}
    twice = recovered(once, recovery_point=0)
    assert files == {name: (Path(log.directory) / name).read_bytes() for name in os.listdir(log.directory)}
    check_prefix(twice, values(30), 29)
