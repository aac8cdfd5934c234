"""Compacts the logs that ask for it, the filthiest first.

Each of `log.cleaner.threads` workers takes the log that needs it most, cleans it in a thread of the cleaner's
own, and looks for the next; with none it sleeps for `log.cleaner.backoff.ms`. A log is cleaned by one worker
at a time. What the thread prepared is put in place on the loop, one group of segments after the other.

A log whose cleaning fails is *uncleanable* until the broker starts again: it is told in the log and in the
metrics, and the others go on. A full disk is no such failure: it is tried again. A log that was deleted, or a
broker that stops, ends a cleaning without a trace.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from mainstem.config.broker import BrokerConfig
from mainstem.core.partition import Partition
from mainstem.core.replicas import Replicas
from mainstem.log.compaction.batch_filter import last_of_producers
from mainstem.log.compaction.cleanable import Cleanable, measure
from mainstem.log.compaction.cleaning import Cleaning, CleaningMemory, CleaningStatistics, SegmentGroup
from mainstem.log.compaction.pace import CleaningStopped, Pace, Throttle
from mainstem.log.compaction.segment_swap import cancel_swap, finish_swap, prepare_swap
from mainstem.log.compaction.segment_writer import CleanedSegment, discard
from mainstem.log.directories import LogDirectories
from mainstem.log.errors import LogDirectoryFailed, is_passing
from mainstem.log.partition_log import PartitionLog
from mainstem.model.errors import DiskError
from mainstem.model.ids import TopicPartition
from mainstem.ports.clock import Clock

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Candidate(NamedTuple):
    """What of a partition is looked at in a thread."""

    partition: Partition
    log: PartitionLog
    limit_offset: int  # committed and decided up to here


@dataclass(slots=True)
class CleanerMeters:
    """What metrics read; changed on the loop."""

    runs: int = 0
    failures: int = 0
    bytes_read: int = 0  # for the map and for the copy
    bytes_written: int = 0
    records_read: int = 0
    records_kept: int = 0
    seconds: float = 0.0
    max_dirty_ratio: float = 0.0  # of all compacted logs, when they were last looked at
    max_map_utilization: float = 0.0  # of the last cleaning
    uncleanable: dict[TopicPartition, str] = field(default_factory=dict)  # with the reason


class LogCleaner:
    def __init__(
        self,
        replicas: Replicas,
        directories: LogDirectories,
        clock: Clock,
        config: Callable[[], BrokerConfig],
    ) -> None:
        self.meters = CleanerMeters()
        self._replicas = replicas
        self._directories = directories
        self._clock = clock
        self._config = config
        self._throttle = Throttle(clock.monotonic_ms, config().log_cleaner_io_max_bytes_per_second)
        self._stop = threading.Event()  # for the threads
        self._stopping = asyncio.Event()  # for the workers
        self._workers: list[asyncio.Task[None]] = []
        self._threads: ThreadPoolExecutor | None = None
        self._in_progress: set[PartitionLog] = set()
        self._choosing = asyncio.Lock()

    def start(self) -> None:
        config = self._config()
        if not config.log_cleaner_enable:
            return
        self._threads = ThreadPoolExecutor(config.log_cleaner_threads, thread_name_prefix="cleaner")
        loop = asyncio.get_running_loop()
        self._workers = [loop.create_task(self._work()) for _ in range(config.log_cleaner_threads)]

    async def stop(self) -> None:
        """Returns when no cleaning is under way any more and nothing half made is left."""
        self._stop.set()
        self._stopping.set()
        await asyncio.gather(*self._workers, return_exceptions=True)
        self._workers = []
        if self._threads is not None:
            self._threads.shutdown()
            self._threads = None

    @property
    def is_running(self) -> bool:
        return bool(self._workers)

    def is_cleaning(self, log: PartitionLog) -> bool:
        return log in self._in_progress

    async def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                has_cleaned = await self.clean_filthiest()
            except Exception:
                logger.exception("looking for something to compact failed")
                has_cleaned = False
            if not has_cleaned:
                with suppress(TimeoutError):
                    backoff_s = max(self._config().log_cleaner_backoff_ms, 1) / 1000.0
                    await asyncio.wait_for(self._stopping.wait(), backoff_s)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        assert self._threads is not None
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    # ------------------------------------------------------------------ which log

    async def clean_filthiest(self) -> bool:
        """Cleans the log that needs it most; False when none does."""
        async with self._choosing:
            candidates = self._candidates()
            if not candidates:
                self.meters.max_dirty_ratio = 0.0
                return False
            now_ms = self._clock.now_ms()
            measured = await self._in_thread(lambda: list(_measured(candidates, now_ms)))
            self.meters.max_dirty_ratio = max((m.dirty_ratio for _, m in measured), default=0.0)
            due = [(c, m) for c, m in measured if m.is_due(c.log.config) and not c.log.is_closed]
            if not due:
                return False
            candidate, cleanable = max(due, key=lambda item: item[1].dirty_ratio)
            self._in_progress.add(candidate.log)
        try:
            await self._clean(candidate.partition, candidate.log, cleanable)
        finally:
            self._in_progress.discard(candidate.log)
        return True

    def _candidates(self) -> list[Candidate]:
        uncleanable = self.meters.uncleanable
        return [
            Candidate(partition, partition.log, partition.last_stable_offset)
            for partition in self._replicas.partitions.values()
            if "compact" in partition.log.config.cleanup_policy
            and partition.is_open
            and partition.topic_partition not in uncleanable
            and partition.log not in self._in_progress
        ]

    # ------------------------------------------------------------------ one log

    async def _clean(self, partition: Partition, log: PartitionLog, cleanable: Cleanable) -> None:
        started_ms = self._clock.monotonic_ms()
        cleaning = self._cleaning(log, cleanable)
        try:
            await self._in_thread(cleaning.build_map)
            for group in await self._in_thread(cleaning.groups):
                if not await self._replace(log, cleaning, group):
                    return
            log.first_dirty_offset = cleaning.end_offset
            await self._in_thread(lambda: self._directories.checkpoint_cleaned(_parent(log)))
            self._tell(log, cleanable, cleaning.statistics, self._clock.monotonic_ms() - started_ms)
        except CleaningStopped:
            logger.debug("the compaction of %s was given up", log.topic_partition)
        except Exception as error:
            self._on_failed(partition, log, error)
        finally:
            self._count(cleaning.statistics, self._clock.monotonic_ms() - started_ms)

    def _cleaning(self, log: PartitionLog, cleanable: Cleanable) -> Cleaning:
        config = self._config()
        threads = config.log_cleaner_threads
        self._throttle.bytes_per_second = config.log_cleaner_io_max_bytes_per_second
        memory = CleaningMemory(
            config.log_cleaner_dedupe_buffer_size // threads,
            config.log_cleaner_io_buffer_load_factor,
            max(config.log_cleaner_io_buffer_size // threads // 2, 4096),
        )
        producers = last_of_producers(log.producers.entries)
        pace = Pace(self._throttle, self._stop, lambda: log.is_closed)
        return Cleaning(log.storage, log.directory, log.config, cleanable, producers, memory, pace)

    async def _replace(self, log: PartitionLog, cleaning: Cleaning, group: SegmentGroup) -> bool:
        """Cleans a group and puts the result in its place; False when the group is not there any more."""
        group.pin()
        has_begun = False
        try:
            cleaned = await self._in_thread(lambda: cleaning.clean(group))
            has_begun = log.begin_swap(group.segments)
            if not has_begun:  # retention was faster: the next cleaning begins with what it left
                await self._in_thread(lambda: discard(log.storage.disk, log.directory, cleaned))
                return False
        finally:
            if not has_begun:
                group.unpin()
        await self._swap(log, cleaned, group)
        return True

    async def _swap(self, log: PartitionLog, cleaned: CleanedSegment, group: SegmentGroup) -> None:
        disk, directory = log.storage.disk, log.directory
        try:
            plan = await self._in_thread(lambda: prepare_swap(disk, directory, cleaned, group.base_offsets))
        except OSError:
            await self._in_thread(lambda: cancel_swap(disk, directory, cleaned))
            log.end_swap(())
            group.unpin()
            raise
        if log.is_closed:  # deleted meanwhile, folder and all
            raise CleaningStopped
        log.swap(plan, cleaned, group.segments)
        try:
            log.end_swap(await self._in_thread(lambda: finish_swap(disk, directory, plan)))
        except OSError as error:
            raise LogDirectoryFailed(f"a compacted segment of {directory} is not stored: {error}") from error

    # ------------------------------------------------------------------ how it went

    def _tell(
        self, log: PartitionLog, cleanable: Cleanable, statistics: CleaningStatistics, took_ms: float
    ) -> None:
        self.meters.runs += 1
        logger.info(
            "%s: compacted offsets %d to %d in %.1f s: %d of %d records kept, %d bytes became %d",
            log.topic_partition,
            cleanable.first_dirty_offset,
            log.first_dirty_offset - 1,
            took_ms / 1000.0,
            statistics.records_kept,
            statistics.records_read,
            statistics.bytes_read,
            statistics.bytes_written,
        )
        if statistics.keyless_records:
            logger.warning(
                "%s: %d records without a key were dropped: they were written before the topic was compacted",
                log.topic_partition,
                statistics.keyless_records,
            )

    def _count(self, statistics: CleaningStatistics, took_ms: float) -> None:
        meters = self.meters
        meters.bytes_read += statistics.map_bytes_read + statistics.bytes_read
        meters.bytes_written += statistics.bytes_written
        meters.records_read += statistics.records_read
        meters.records_kept += statistics.records_kept
        meters.max_map_utilization = statistics.map_utilization
        meters.seconds += took_ms / 1000.0

    def _on_failed(self, partition: Partition, log: PartitionLog, error: Exception) -> None:
        if log.is_closed:
            return  # it was deleted under the thread
        self.meters.failures += 1
        if isinstance(error, OSError) and is_passing(error):
            logger.warning("%s: not compacted now: %s; it is tried again", log.topic_partition, error)
            return
        self.meters.uncleanable[log.topic_partition] = str(error)
        logger.error(
            "%s: cannot be compacted and will not be tried again before a restart: %s",
            log.topic_partition,
            error,
            exc_info=None if isinstance(error, DiskError | OSError) else error,
        )
        if isinstance(error, LogDirectoryFailed):
            partition.fail(error)


def _measured(candidates: Iterable[Candidate], now_ms: int) -> Iterable[tuple[Candidate, Cleanable]]:
    for candidate in candidates:
        log = candidate.log
        with suppress(OSError, DiskError):  # a read error shows when it is cleaned or fetched, or it is gone
            yield (
                candidate,
                measure(
                    log.segments,
                    log.config,
                    first_dirty_offset=log.first_dirty_offset,
                    log_start_offset=log.log_start_offset,
                    limit_offset=candidate.limit_offset,
                    now_ms=now_ms,
                ),
            )


def _parent(log: PartitionLog) -> str:
    return log.directory.rpartition("/")[0]
