"""What the broker does on its own, also when its disks do not do what they should."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest
from tests.support.logs import append, batch_of, values_in
from tests.support.simulated_disk import SimulatedDisk
from tests.support.storage_node import StorageNode

from mainstem.core.errors import StorageFailed

DAY_MS = 86_400_000


def failing(operation: str, part_of_path: str, code: int = errno.EIO) -> Callable[[str, str], OSError | None]:
    return lambda asked, path: (
        OSError(code, "as asked") if asked == operation and part_of_path in path else None
    )


async def test_segments_go_by_time_and_by_size_whichever_comes_first() -> None:
    node = await StorageNode().start()
    await node.create("aged", retention_ms=str(DAY_MS), segment_ms="1000")
    await node.create("large", retention_bytes="300", segment_ms="1000", retention_ms="-1")
    for topic in ("aged", "large"):
        for number in range(6):
            node.produce(topic, bytes(100), time_ms=node.clock.time_ms + number * 2_000)
    await node.housekeeping.enforce_retention()
    assert node.partition("aged").log_start_offset == 0
    large = node.partition("large").log
    assert large.log_start_offset > 0
    assert large.size_bytes - large.segments[0].size_bytes <= 300 <= large.size_bytes
    node.clock.time_ms += DAY_MS + 3_000
    await node.housekeeping.enforce_retention()
    assert node.partition("aged").log_start_offset == 2
    assert node.housekeeping.segments_deleted > 2


async def test_flushes_are_counted_with_their_time() -> None:
    node = await StorageNode().start()
    await node.create("t", segment_ms="1000")
    node.produce("t", b"in a segment")
    node.clock.time_ms += 2_000
    node.produce("t", b"in the next")
    await node.housekeeping.flush_due()
    assert (node.housekeeping.flush_count, node.housekeeping.flush_seconds) == (1, 0)

    def slow(operation: str, _: str) -> None:
        node.clock.time_ms += 500 if operation == "sync" else 0

    node.clock.time_ms += 2_000
    node.produce("t", b"in a third")
    node.disk.fault = slow
    await node.housekeeping.flush_due()
    assert node.housekeeping.flush_count == 2
    assert node.housekeeping.flush_seconds >= 0.5


async def test_nothing_at_or_above_the_high_watermark_is_deleted() -> None:
    node = await StorageNode().start()
    await node.create("t", retention_ms="1000", segment_ms="1000", acks_after="disk")
    node.produce("t", b"committed")
    node.durability.is_held = True
    node.clock.time_ms += 5_000
    node.produce("t", b"not yet")
    node.clock.time_ms += DAY_MS
    await node.housekeeping.enforce_retention()
    assert values_in(node.partition("t").log, 1) == {1: b"not yet"}
    node.durability.release()
    await node.housekeeping.enforce_retention()
    assert node.partition("t").log_start_offset == 2


async def test_a_deleted_segment_is_removed_after_its_delay() -> None:
    node = await StorageNode().start()
    await node.create("t", retention_ms="1000", segment_ms="1000", file_delete_delay_ms="60000")
    for _ in range(3):
        node.produce("t", b"x")
        node.clock.time_ms += 5_000
    await node.housekeeping.enforce_retention()
    folder = node.partition("t").log.directory
    assert any(name.endswith(".deleted") for name in node.disk.list(folder))
    await node.housekeeping.purge()
    assert any(name.endswith(".deleted") for name in node.disk.list(folder))
    node.clock.time_ms += 60_000
    await node.housekeeping.purge()
    assert not any(name.endswith(".deleted") for name in node.disk.list(folder))


async def test_a_full_disk_does_not_take_a_partition_offline_when_its_segments_are_due() -> None:
    """It is retention that makes room again."""
    node = await StorageNode().start()
    await node.create("t", retention_ms="1000")
    slot = node.produce("t", b"old")
    assert slot.error is None
    node.clock.time_ms += DAY_MS
    node.disk.fault = failing("create", "/data/t-0/", errno.ENOSPC)
    await node.housekeeping.enforce_retention()
    node.disk.fault = None
    assert node.produce("t", b"new").error is None
    await node.housekeeping.enforce_retention()
    assert values_in(node.partition("t").log)[1] == b"new"


async def test_a_full_disk_does_not_take_a_partition_offline_when_it_rolls_by_time() -> None:
    node = await StorageNode().start()
    await node.create("t", segment_ms="1000", retention_ms="-1")
    node.produce("t", b"one")
    node.clock.time_ms += 5_000
    node.disk.fault = failing("create", "/data/t-0/", errno.ENOSPC)
    await node.housekeeping.enforce_retention()
    node.disk.fault = None
    await node.housekeeping.enforce_retention()
    assert len(node.partition("t").log.segments) == 2


async def test_a_flush_that_failed_takes_the_directory_offline_and_is_not_tried_again() -> None:
    """After a failed flush nobody knows what is stored: to flush again would claim that all of it is."""
    node = await StorageNode(paths=["/one", "/two"]).start()
    await node.create("t", partitions=4, flush_messages="1")
    for index in range(4):
        node.produce("t", b"x", partition=index)
    bad = [index for index in range(4) if node.partition("t", index).log.directory.startswith("/one")]
    assert len(bad) == 2
    node.disk.fault = failing("sync", f"/one/t-{bad[0]}/")
    await node.housekeeping.flush_due()
    node.disk.fault = None
    await node.housekeeping.flush_due()
    assert list(node.directories.offline) == ["/one"]
    for index in range(4):
        if index in bad:
            with pytest.raises(StorageFailed):
                node.partition("t", index)
        else:
            log = node.partition("t", index).log
            assert log.recovery_point == log.log_end_offset == 1


async def test_flushing_goes_on_with_the_next_partition_when_the_disk_is_only_full() -> None:
    node = await StorageNode().start()
    await node.create("t", partitions=3, flush_messages="1")
    for index in range(3):
        node.produce("t", b"x", partition=index)
    node.disk.fault = failing("create", "t-0/leader-epoch-checkpoint", errno.ENOSPC)
    await node.housekeeping.flush_due()
    node.disk.fault = None
    assert [node.partition("t", index).log.recovery_point for index in (1, 2)] == [1, 1]
    await node.housekeeping.flush_due()
    assert node.partition("t", 0).log.recovery_point == 1
    assert not node.directories.offline


async def test_files_that_cannot_be_removed_take_their_directory_offline_and_no_other() -> None:
    node = await StorageNode(paths=["/one", "/two"]).start()
    await node.create("t", partitions=2, retention_ms="1000", segment_ms="1000", file_delete_delay_ms="0")
    for index in range(2):
        node.produce("t", b"x", partition=index)
    node.clock.time_ms += DAY_MS
    await node.housekeeping.enforce_retention()
    node.disk.fault = failing("remove", "/one/")
    await node.housekeeping.purge()
    node.disk.fault = None
    assert list(node.directories.offline) == ["/one"]
    two = next(p for p in node.replicas.partitions.values() if p.log.directory.startswith("/two"))
    assert not any(name.endswith(".deleted") for name in node.disk.list(two.log.directory))


async def test_deleted_records_stay_deleted_after_a_crash() -> None:
    disk = SimulatedDisk()
    node = await StorageNode(disk).start()
    await node.create("t")
    for number in range(10):
        node.produce("t", b"%d" % number)
    assert node.partition("t").delete_records(7) == 7
    await node.housekeeping.checkpoint()
    await node.restart()
    assert node.partition("t").log_start_offset == 7
    assert node.partition("t").log_end_offset == 10


async def test_producers_that_were_silent_too_long_are_forgotten() -> None:
    node = await StorageNode(options={"producer.id.expiration.ms": "1000"}).start()
    await node.create("t")
    log = node.partition("t").log
    append(log, batch_of(b"x", producer=(7, 0, 0), time_ms=node.clock.time_ms))
    await node.housekeeping.expire_producers()
    assert log.producers.get(7) is not None
    node.clock.time_ms += 1_001
    await node.housekeeping.expire_producers()
    assert log.producers.get(7) is None
