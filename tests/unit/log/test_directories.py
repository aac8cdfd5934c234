"""Several log directories: which logs they hold, and what a start that cannot be does to them: nothing."""

from __future__ import annotations

import errno

import pytest
from tests.support.logs import StandingClock, append, batch_of, values_in
from tests.support.simulated_disk import SimulatedDisk

from mainstem.config.topic_options import TopicConfig
from mainstem.log.directories import DirectorySettings, LogDirectories
from mainstem.log.errors import LogDirectoryFailed, LogWriteFailed
from mainstem.log.log_directory import JournalSize, Owner
from mainstem.log.open_files import OpenFiles
from mainstem.log.partition_log import PartitionLog
from mainstem.log.storage import LogStorage
from mainstem.model.ids import TopicId, TopicPartition

CONFIG = TopicConfig()
FIRST, SECOND, THIRD = (TopicPartition(name, 0) for name in ("first", "second", "third"))


def topic_id(name: str) -> TopicId:
    return TopicId(name.encode().ljust(16, b"."))


def opened(disk: SimulatedDisk, *paths: str, clock: StandingClock | None = None) -> LogDirectories:
    directories = unopened(disk, *paths, clock=clock)
    directories.open(CONFIG)
    return directories


def unopened(disk: SimulatedDisk, *paths: str, clock: StandingClock | None = None) -> LogDirectories:
    storage = LogStorage(disk, clock or StandingClock(), OpenFiles(disk, 64))
    return LogDirectories(storage, DirectorySettings(paths, 1, JournalSize(16 * 4096, 2), Owner("c", 1)))


def create(directories: LogDirectories, *names: TopicPartition) -> list[PartitionLog]:
    directories.create_many([(name, topic_id(name.topic), CONFIG) for name in names])
    return [directories.logs[name] for name in names]


def test_a_new_log_goes_where_the_fewest_are() -> None:
    directories = opened(SimulatedDisk(), "/one", "/two")
    create(directories, *(TopicPartition("t", number) for number in range(7)))
    homes = [log.directory.split("/")[1] for log in directories.logs.values()]
    assert (homes.count("one"), homes.count("two")) == (4, 3)


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_partition_that_is_in_two_directories_stops_the_start_and_costs_nothing(is_clean: bool) -> None:
    disk = SimulatedDisk()
    for path, names in (("/one", (FIRST, SECOND)), ("/two", (SECOND, THIRD))):
        directories = opened(disk, path)
        for log in create(directories, *names):
            for number in range(10):
                append(log, batch_of(b"%d" % number))
            log.delete_records(4)
            log.flush()
        directories.checkpoint()
        if is_clean:
            directories.close()
        else:
            disk.kill_process()

    both = unopened(disk, "/one", "/two")
    with pytest.raises(LogDirectoryFailed, match="second-0 is in /one/second-0 and in /two"):
        both.open(CONFIG)
    both.close()
    assert not disk.locks

    disk.rename("/two/second-0", "/moved-away")
    again = opened(disk, "/one", "/two")
    for name in (FIRST, SECOND, THIRD):
        log = again.logs[name]
        assert (log.log_start_offset, log.log_end_offset, log.recovery_point) == (4, 10, 10)
        assert values_in(log, 4) == {number: b"%d" % number for number in range(4, 10)}


def test_a_directory_that_cannot_be_opened_is_offline_and_the_rest_serve() -> None:
    disk = SimulatedDisk()
    first = opened(disk, "/one", "/two")
    create(first, FIRST, SECOND)
    first.close()
    disk.fault = lambda _, path: OSError(errno.EIO, "as asked") if path.startswith("/two") else None
    directories = opened(disk, "/one", "/two")
    assert list(directories.offline) == ["/two"]
    assert list(directories.logs) == [FIRST]
    assert [(each.path, each.is_online) for each in directories.describe()] == [
        ("/one", True),
        ("/two", False),
    ]
    disk.fault = lambda _, path: OSError(errno.EIO, "as asked") if path.startswith("/") else None
    with pytest.raises(LogDirectoryFailed, match="no log directory can be used"):
        opened(disk, "/one", "/two")


def test_no_room_for_a_new_partition_is_an_error_of_that_partition() -> None:
    disk = SimulatedDisk()
    directories = opened(disk, "/one")
    disk.fault = lambda operation, path: (
        OSError(errno.ENOSPC, "no room") if operation == "create" and "/second-0/" in path else None
    )
    with pytest.raises(LogWriteFailed) as refused:
        create(directories, FIRST, SECOND)
    assert refused.value.is_passing
    assert list(directories.logs) == [FIRST]
    assert not directories.offline
    disk.fault = None
    create(directories, SECOND)


def test_a_deleted_log_is_renamed_at_once_and_removed_after_its_delay() -> None:
    disk, clock = SimulatedDisk(), StandingClock()
    directories = opened(disk, "/one", clock=clock)
    create(directories, FIRST)
    directories.schedule_delete(FIRST)
    folders = [entry.name for entry in disk.scan("/one") if entry.is_directory]
    assert len(folders) == 1
    assert folders[0].startswith("first-0.")
    assert folders[0].endswith("-delete")
    create(directories, FIRST)
    assert directories.purge_deleted(clock.time_ms + CONFIG.file_delete_delay_ms - 1) == 0
    assert directories.purge_deleted(clock.time_ms + CONFIG.file_delete_delay_ms) == 1
    assert [entry.name for entry in disk.scan("/one") if entry.is_directory] == ["first-0"]


def test_a_deletion_that_a_crash_interrupted_is_finished_by_the_next_start() -> None:
    disk = SimulatedDisk()
    directories = opened(disk, "/one")
    create(directories, FIRST)
    directories.schedule_delete(FIRST)
    disk.kill_process()
    clock = StandingClock()
    again = opened(disk, "/one", clock=clock)
    assert not again.logs
    assert again.purge_deleted(clock.time_ms) == 1
    assert not any(entry.is_directory for entry in disk.scan("/one"))


def test_another_process_keeps_its_directory() -> None:
    disk = SimulatedDisk()
    opened(disk, "/one")
    with pytest.raises(LogDirectoryFailed, match="another process uses it"):
        opened(disk, "/one")
