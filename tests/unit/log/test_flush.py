"""What a flush promises, and what it never claims again once the disk has failed it."""

from __future__ import annotations

import errno

import pytest
from tests.support.logs import append, batch_of, new_log, recovered, storage_on, values_in
from tests.support.simulated_disk import SimulatedDisk

from mainstem.log.errors import LogDirectoryFailed, LogWriteFailed
from mainstem.log.partition_log import PartitionLog


def on_disk() -> tuple[SimulatedDisk, PartitionLog]:
    disk = SimulatedDisk()
    disk.make_directory("/data")
    disk.sync_directory("/")
    log = new_log("/data", storage=storage_on(disk))
    disk.sync_directory("/data")
    return disk, log


def test_after_a_flush_that_failed_no_flush_claims_success() -> None:
    """The kernel may have dropped the pages: a second fsync would succeed without the bytes being there."""
    disk, log = on_disk()
    log.flush()
    append(log, batch_of(b"lost"))
    disk.fault = lambda operation, _: OSError(errno.EIO, "as asked") if operation == "sync" else None
    with pytest.raises(OSError, match="as asked"):
        log.flush()
    disk.fault = None
    with pytest.raises(LogDirectoryFailed):
        log.flush()
    assert log.recovery_point == 0
    with pytest.raises(LogDirectoryFailed):
        log.close()


def test_no_room_for_the_epochs_is_no_failed_flush() -> None:
    disk, log = on_disk()
    append(log, batch_of(b"kept"), epoch=3)
    disk.fault = lambda operation, path: (
        OSError(errno.ENOSPC, "full") if operation == "create" and "leader-epoch" in path else None
    )
    assert log.flush() == 1  # the records are on stable storage
    assert log.recovery_point == 0  # and recovery will look at them, to learn the epochs
    with pytest.raises(LogWriteFailed):
        log.close()  # not a clean stop
    disk.fault = None
    disk.lose_power()
    found = recovered(log, storage=storage_on(disk))
    assert values_in(found) == {0: b"kept"}
    assert found.epochs.epoch_of(0) == 3


def test_the_epochs_are_saved_once_there_is_room() -> None:
    disk, log = on_disk()
    append(log, batch_of(b"kept"), epoch=3)
    disk.fault = lambda operation, path: (
        OSError(errno.ENOSPC, "full") if operation == "create" and "leader-epoch" in path else None
    )
    log.flush()
    assert log.needs_flush(log._storage.clock.now_ms() + 1) or log.epochs.is_dirty
    disk.fault = None
    assert log.flush() == 1
    assert log.recovery_point == 1
    assert disk.exists("/data/t-0/leader-epoch-checkpoint")
