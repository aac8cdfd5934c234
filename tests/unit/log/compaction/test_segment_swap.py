"""A swap that is cut short at any operation of the disk, by a kill or a power loss, and then recovered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from tests.support.compaction import compact, new_cleaning, put, records_in, steps_of
from tests.support.logs import START_MS, new_log, place_in, storage_on
from tests.support.simulated_disk import PowerLoss, SimulatedDisk

from mainstem.config.topic_options import TopicConfig
from mainstem.log.compaction.segment_swap import PLAN, cancel_swap, prepare_swap
from mainstem.log.compaction.segment_writer import discard
from mainstem.log.directories import DirectorySettings, LogDirectories
from mainstem.log.errors import LogCorrupt
from mainstem.log.loading import LogPlace, recover_log
from mainstem.log.log_directory import JournalSize, Owner
from mainstem.log.partition_log import PartitionLog
from mainstem.model.ids import TopicId, TopicPartition

CONFIG = TopicConfig(cleanup_policy=frozenset({"compact"}), index_interval_bytes=100, segment_bytes=4_000)
KEYS = 7
RECORDS = 60
FOLDER = "/logs"
Contents = dict[int, tuple[bytes | None, bytes | None, int]]


def dirty_log(disk: SimulatedDisk) -> PartitionLog:
    """Three closed segments, the first of them from an earlier cleaning; everything is on stable storage."""
    disk.make_directory(FOLDER)
    log = new_log(FOLDER, CONFIG, storage=storage_on(disk))
    for number in range(20):
        put(log, (b"%d" % (number % KEYS), b"first %d" % number))
    compact(log)
    for number in range(RECORDS):
        put(log, (b"%d" % (number % KEYS), b"second %d" % number), (b"only %d" % number, b"once"))
        if number in (20, 40):
            log.roll()
    log.roll()
    log.flush()
    disk.sync_everything()
    return log


def reopened(log: PartitionLog, disk: SimulatedDisk) -> PartitionLog:
    place = LogPlace(log.directory, log.topic_partition, log.topic_id, log.config)
    return recover_log(storage_on(disk), place, recovery_point=log.recovery_point, log_start_offset=0)


def newest_of(contents: Contents) -> dict[bytes | None, bytes | None]:
    return {record[0]: record[1] for _, record in sorted(contents.items())}


def operations() -> tuple[int, int]:
    """Of the disk: how many there were before the cleaning, and after it."""
    disk = SimulatedDisk()
    log = dirty_log(disk)
    before = disk.operations
    for _ in steps_of(log, new_cleaning(log)):
        pass
    return before, disk.operations


def crash_points() -> Iterator[int]:
    before, after = operations()
    assert after - before > 30
    yield from range(before + 1, after + 2)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loses_power", [False, True], ids=["kill", "power loss"])
def test_a_crash_at_every_operation_leaves_each_group_old_or_new(loses_power: bool, seed: int) -> None:
    for point in crash_points():
        disk = SimulatedDisk(seed * 10_000 + point)
        log = dirty_log(disk)
        before = records_in(log)
        disk.crash_at = point
        try:
            for _ in steps_of(log, new_cleaning(log)):
                pass
        except PowerLoss:
            pass
        else:
            assert point > operations()[1]
        if loses_power:
            disk.lose_power()
        else:
            disk.kill_process()
        check_recovered(log, disk, before)


def check_recovered(log: PartitionLog, disk: SimulatedDisk, before: Contents) -> None:
    again = reopened(log, disk)
    after = records_in(again)
    assert again.log_end_offset == log.log_end_offset
    assert after.items() <= before.items()
    assert newest_of(after) == newest_of(before)
    names = disk.list(log.directory)
    assert not [name for name in names if name.endswith((".cleaned", ".swap")) or name == PLAN]
    put(again, (b"more", b"more"))
    compact(again)
    assert newest_of(records_in(again)) == {**newest_of(before), b"more": b"more"}
    assert len(records_in(again)) == len(newest_of(before)) + 1


@pytest.mark.parametrize("seed", range(4))
def test_recovery_that_crashes_itself_is_finished_by_the_next_one(seed: int) -> None:
    before_swap = 0
    for point in range(1, 40):
        disk = SimulatedDisk(seed * 100 + point)
        log = dirty_log(disk)
        before = records_in(log)
        steps = steps_of(log, new_cleaning(log))
        for step in steps:
            if step == "swapped":
                break
        disk.kill_process()
        before_swap = disk.operations
        disk.crash_at = before_swap + point
        with suppress(PowerLoss):
            reopened(log, disk)
        disk.lose_power()
        check_recovered(log, disk, before)


def swap_of_a_kafka_broker(disk: SimulatedDisk, *, removed: int) -> tuple[PartitionLog, Contents]:
    """`.swap` files without a plan, of the first three segments, `removed` of which are gone already."""
    log = dirty_log(disk)
    log.update_config(TopicConfig(cleanup_policy=frozenset({"compact"}), index_interval_bytes=100))
    before = records_in(log)
    cleaning = new_cleaning(log)
    cleaning.build_map()
    (group,) = cleaning.groups()
    prepare_swap(disk, log.directory, cleaning.clean(group), group.base_offsets)
    disk.remove(f"{log.directory}/{PLAN}")
    for segment in group.segments[:removed]:
        segment.rename(disk, ".deleted")
    return log, before


@pytest.mark.parametrize("removed", range(4))
def test_a_swap_without_a_plan_is_finished_as_kafka_does(removed: int) -> None:
    disk = SimulatedDisk()
    log, before = swap_of_a_kafka_broker(disk, removed=removed)
    check_recovered(log, disk, before)


def test_a_torn_swap_file_is_dropped_while_the_segment_is_there() -> None:
    disk = SimulatedDisk()
    log, before = swap_of_a_kafka_broker(disk, removed=0)
    file = disk.open(f"{log.directory}/{0:020d}.log.swap")
    file.truncate(file.size() - 5)
    check_recovered(log, disk, before)
    log, _ = swap_of_a_kafka_broker(disk := SimulatedDisk(), removed=1)
    disk.open(f"{log.directory}/{0:020d}.log.swap").truncate(100)
    with pytest.raises(LogCorrupt):
        reopened(log, disk)


def test_an_index_that_was_still_on_its_way_is_made_anew() -> None:
    disk = SimulatedDisk()
    log, before = swap_of_a_kafka_broker(disk, removed=3)
    disk.rename(f"{log.directory}/{0:020d}.log.swap", f"{log.directory}/{0:020d}.log")
    check_recovered(log, disk, before)


def test_a_swap_that_is_taken_back_leaves_nothing() -> None:
    disk = SimulatedDisk()
    log = dirty_log(disk)
    names = sorted(disk.list(log.directory))
    cleaning = new_cleaning(log)
    cleaning.build_map()
    group = cleaning.groups()[0]
    cleaned = cleaning.clean(group)
    prepare_swap(disk, log.directory, cleaned, group.base_offsets)
    cancel_swap(disk, log.directory, cleaned)
    assert sorted(disk.list(log.directory)) == names
    cleaned = cleaning.clean(group)
    discard(disk, log.directory, cleaned)
    assert sorted(disk.list(log.directory)) == names


def test_a_plan_that_cannot_be_read_is_damage() -> None:
    disk = SimulatedDisk()
    log = dirty_log(disk)
    disk.replace_file(f"{log.directory}/{PLAN}", b'{"version": 9}')
    with pytest.raises(LogCorrupt, match="version 9, known is 0"):
        reopened(log, disk)
    disk.replace_file(f"{log.directory}/{PLAN}", b"{")
    with pytest.raises(LogCorrupt, match="cannot be read"):
        reopened(log, disk)


def opened_directories(disk: SimulatedDisk) -> LogDirectories:
    settings = DirectorySettings([FOLDER], 1, JournalSize(16 * 4096, 3), Owner("c", 1))
    directories = LogDirectories(storage_on(disk), settings)
    directories.open(CONFIG)
    return directories


@pytest.mark.parametrize("is_clean", [True, False])
def test_how_far_a_log_is_compacted_outlives_the_process(is_clean: bool) -> None:
    disk = SimulatedDisk()
    directories = opened_directories(disk)
    place = place_in(FOLDER, CONFIG)
    other = TopicPartition("other", 3)
    directories.create_many(
        [(place.topic_partition, place.topic_id, CONFIG), (other, TopicId(bytes(16)), CONFIG)]
    )
    log = directories.logs[place.topic_partition]
    put(log, (b"a", b"1"))
    put(log, (b"a", b"2"))
    compact(log)
    directories.checkpoint_cleaned(FOLDER)
    assert disk.read_file(f"{FOLDER}/cleaner-offset-checkpoint") == b"0\n1\nt 0 2\n"
    if is_clean:
        directories.close()
    else:
        disk.kill_process()
    again = opened_directories(disk)
    assert again.logs[place.topic_partition].first_dirty_offset == 2
    assert again.logs[other].first_dirty_offset == 0
    assert records_in(again.logs[place.topic_partition]) == {1: (b"a", b"2", START_MS)}
