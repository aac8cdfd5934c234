"""Which log is compacted when, what becomes of one that cannot be, and how the cleaner stops."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tests.support.compaction import put, records_in
from tests.support.deadline import PATIENCE_S
from tests.support.storage_node import StorageNode

from mainstem.core.log_cleaner import LogCleaner
from mainstem.log.partition_log import PartitionLog

DAY_MS = 86_400_000


@asynccontextmanager
async def cleaning_node(**options: str) -> AsyncIterator[tuple[StorageNode, LogCleaner]]:
    """A cleaner whose worker sleeps for good after its first look: the test calls it itself."""
    settings = {name.replace("_", "."): value for name, value in options.items()}
    node = await StorageNode(options={"log.cleaner.backoff.ms": "100000000", **settings}).start()
    cleaner = LogCleaner(node.replicas, node.directories, node.clock, lambda: node.config)
    cleaner.start()
    await asyncio.sleep(0)
    try:
        yield node, cleaner
    finally:
        await cleaner.stop()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in a thread
            await asyncio.sleep(0.001)


def fill(node: StorageNode, topic: str, count: int = 10, keys: int = 2) -> PartitionLog:
    """A closed segment of `count` batches, all committed."""
    partition = node.partition(topic)
    log = partition.log
    for number in range(count):
        put(log, (b"%d" % (number % keys), b"value %d" % number))
    partition.high_watermark = log.log_end_offset
    log.roll()
    return log


async def test_the_filthiest_log_goes_first_and_the_checkpoint_says_so() -> None:
    async with cleaning_node() as (node, cleaner):
        for topic in ("clean", "dirty"):
            await node.create(topic, cleanup_policy="compact")
        await node.create("deleted")
        fill(node, "deleted")
        fill(node, "clean", 40, keys=40)
        assert await cleaner.clean_filthiest()
        assert not await cleaner.clean_filthiest()
        fill(node, "clean", 41, keys=40)
        fill(node, "dirty", 10)
        assert await cleaner.clean_filthiest()
        assert node.partition("dirty").log.first_dirty_offset == 10
        assert node.partition("clean").log.first_dirty_offset == 40
        assert await cleaner.clean_filthiest()
        assert sorted(records_in(node.partition("dirty").log)) == [8, 9]
        assert len(records_in(node.partition("deleted").log)) == 10
        content = node.disk.read_file("/data/cleaner-offset-checkpoint").decode().splitlines()
        assert sorted(content[2:]) == ["clean 0 81", "dirty 0 10"]
        meters = cleaner.meters
        assert (meters.runs, meters.failures, meters.uncleanable) == (3, 0, {})
        assert meters.records_read == 40 + 10 + 81
        assert meters.records_kept == 40 + 2 + 40
        assert meters.bytes_read > meters.bytes_written > 0


async def test_a_log_is_left_alone_until_enough_of_it_is_dirty_or_it_waited_too_long() -> None:
    async with cleaning_node() as (node, cleaner):
        await node.create("t", cleanup_policy="compact", max_compaction_lag_ms=str(DAY_MS))
        fill(node, "t", 20, keys=20)
        assert await cleaner.clean_filthiest()
        fill(node, "t", 5)
        assert not await cleaner.clean_filthiest()
        assert 0.1 < cleaner.meters.max_dirty_ratio < 0.5
        node.clock.time_ms += DAY_MS + 1
        assert await cleaner.clean_filthiest()


async def test_what_is_young_or_not_committed_is_not_compacted() -> None:
    async with cleaning_node() as (node, cleaner):
        await node.create("t", cleanup_policy="compact", min_compaction_lag_ms=str(DAY_MS))
        log = fill(node, "t")
        assert not await cleaner.clean_filthiest()
        node.clock.time_ms += DAY_MS
        fill(node, "t")
        node.partition("t").high_watermark = 9
        assert not await cleaner.clean_filthiest()
        node.partition("t").high_watermark = 20
        node.clock.time_ms += 100
        assert await cleaner.clean_filthiest()
        assert log.first_dirty_offset == 10
        assert sorted(records_in(log)) == [8, 9, *range(10, 20)]


async def test_a_compacted_log_rolls_when_its_longest_lag_is_over() -> None:
    async with cleaning_node() as (node, cleaner):
        await node.create("t", cleanup_policy="compact", max_compaction_lag_ms="1000")
        partition = node.partition("t")
        put(partition.log, (b"a", b"1"), (b"a", b"2"))
        partition.high_watermark = 2
        node.clock.time_ms += 1_100
        await node.housekeeping.enforce_retention()
        assert await cleaner.clean_filthiest()
        assert sorted(records_in(partition.log)) == [1]


def failing(operation: str, part_of_path: str, code: int) -> Callable[[str, str], OSError | None]:
    return lambda asked, path: (
        OSError(code, "as asked") if asked == operation and part_of_path in path else None
    )


async def test_a_log_that_cannot_be_compacted_is_told_once_and_stops_no_other() -> None:
    async with cleaning_node() as (node, cleaner):
        for topic in ("bad", "good"):
            await node.create(topic, cleanup_policy="compact")
        bad = fill(node, "bad", 50)
        fill(node, "good", 10)
        file = bad.segments[0].log_file()
        content = file.read(1_000, 0)
        file.write([bytes([content[300] ^ 1])], 300)
        while await cleaner.clean_filthiest():
            pass
        assert sorted(records_in(node.partition("good").log)) == [8, 9]
        assert list(cleaner.meters.uncleanable) == [bad.topic_partition]
        assert "checksum" in cleaner.meters.uncleanable[bad.topic_partition]
        assert node.partition("bad").is_open
        assert not any(name.endswith(".cleaned") for name in node.disk.list(bad.directory))


async def test_a_full_disk_only_delays_compaction_wherever_it_shows() -> None:
    for operation, path in (("create", ".cleaned"), ("write", ".cleaned"), ("create", "mainstem-swap")):
        async with cleaning_node() as (node, cleaner):
            await node.create("t", cleanup_policy="compact")
            log = fill(node, "t")
            before = sorted(node.disk.list(log.directory))
            node.disk.fault = failing(operation, path, errno.ENOSPC)
            assert await cleaner.clean_filthiest()
            node.disk.fault = None
            assert sorted(node.disk.list(log.directory)) == before
            assert len(records_in(log)) == 10
            assert (cleaner.meters.failures, cleaner.meters.uncleanable) == (1, {})
            assert await cleaner.clean_filthiest()
            assert sorted(records_in(log)) == [8, 9]


async def test_a_disk_that_fails_in_the_middle_of_a_swap_takes_the_partition_offline() -> None:
    async with cleaning_node() as (node, cleaner):
        await node.create("t", cleanup_policy="compact")
        log = fill(node, "t")
        partition = node.partition("t")
        node.disk.fault = lambda asked, path: (
            OSError(errno.EIO, "as asked") if asked == "rename" and path.endswith(f"{0:020d}.log") else None
        )
        assert await cleaner.clean_filthiest()
        node.disk.fault = None
        assert not partition.is_open
        assert list(cleaner.meters.uncleanable) == [log.topic_partition]
        await node.restart()
        newest = {record[0]: record[1] for record in records_in(node.partition("t").log).values()}
        assert newest == {b"0": b"value 8", b"1": b"value 9"}
        assert log is not node.partition("t").log


async def test_a_topic_that_is_deleted_while_it_is_compacted_is_no_failure() -> None:
    async with cleaning_node(log_cleaner_io_max_bytes_per_second="1") as (node, cleaner):
        await node.create("t", cleanup_policy="compact")
        log = fill(node, "t")
        cleaning = asyncio.create_task(cleaner.clean_filthiest())
        await until(lambda: cleaner.is_cleaning(log))
        await node.delete("t")
        assert await cleaning
        assert (cleaner.meters.failures, cleaner.meters.uncleanable) == (0, {})


async def test_a_stop_ends_a_cleaning_that_is_held_back_and_leaves_nothing_behind() -> None:
    async with cleaning_node(log_cleaner_io_max_bytes_per_second="1") as (node, cleaner):
        await node.create("t", cleanup_policy="compact")
        log = fill(node, "t")
        before = sorted(node.disk.list(log.directory))
        cleaning = asyncio.create_task(cleaner.clean_filthiest())
        await until(lambda: cleaner.is_cleaning(log))
        await cleaner.stop()
        assert await cleaning
        assert sorted(node.disk.list(log.directory)) == before
        assert len(records_in(log)) == 10
        assert cleaner.meters.failures == 0


async def test_workers_share_the_logs_and_wake_by_themselves() -> None:
    async with cleaning_node(log_cleaner_threads="3", log_cleaner_backoff_ms="1") as (node, cleaner):
        for number in range(8):
            await node.create(f"t{number}", cleanup_policy="compact")
            fill(node, f"t{number}", 30)
        await until(lambda: cleaner.meters.runs == 8)
        for number in range(8):
            assert sorted(records_in(node.partition(f"t{number}").log)) == [28, 29]


async def test_it_can_be_switched_off() -> None:
    async with cleaning_node(log_cleaner_enable="false", log_cleaner_backoff_ms="1") as (node, cleaner):
        await node.create("t", cleanup_policy="compact")
        fill(node, "t")
        assert not cleaner.is_running
