"""What the broker does on its own: retention, rolling by time, lazy flushes, checkpoints, expiry.

Each duty runs on its own interval and one after the other, so that two of them never touch a log at
once. What only renames and forgets runs on the loop in short slices; what may wait for a disk runs in
a worker thread. A duty that fails is logged and tried again at its next turn: none of them may end
the broker.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mainstem.config.broker import BrokerConfig
from mainstem.core.partition import Partition
from mainstem.core.replicas import Replicas
from mainstem.log.directories import LogDirectories
from mainstem.log.errors import LogCorrupt, is_passing
from mainstem.model.errors import DiskError
from mainstem.ports.clock import Clock

logger = logging.getLogger(__name__)

_SLICE_MS = 5.0  # how long a pass over all partitions may hold the loop
_FLUSH_INTERVAL_MS = 1000
_PURGE_INTERVAL_MS = 5000


@dataclass(slots=True)
class Duty:
    name: str
    interval_ms: int
    run: Callable[[], Awaitable[None]]
    due_ms: float = 0.0


class Housekeeping:
    def __init__(
        self,
        replicas: Replicas,
        directories: LogDirectories,
        clock: Clock,
        config: Callable[[], BrokerConfig],
    ) -> None:
        self._replicas = replicas
        self._directories = directories
        self._clock = clock
        self._config = config
        self._task: asyncio.Task[None] | None = None
        self.flush_count = 0
        self.flush_seconds = 0.0
        self.segments_deleted = 0

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(self._duties()))

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def _duties(self) -> list[Duty]:
        config = self._config()
        checkpoint_interval_ms = min(  # both are written by one pass
            config.log_flush_offset_checkpoint_interval_ms,
            config.log_flush_start_offset_checkpoint_interval_ms,
        )
        return [
            Duty("flush", _FLUSH_INTERVAL_MS, self.flush_due),
            Duty("retention", config.log_retention_check_interval_ms, self.enforce_retention),
            Duty("purge", _PURGE_INTERVAL_MS, self.purge),
            Duty("checkpoint", checkpoint_interval_ms, self.checkpoint),
            Duty("producer expiry", config.producer_id_expiration_check_interval_ms, self.expire_producers),
        ]

    async def _run(self, duties: list[Duty]) -> None:
        now_ms = self._clock.monotonic_ms()
        for duty in duties:
            duty.due_ms = now_ms + duty.interval_ms
        while True:
            duty = min(duties, key=lambda d: d.due_ms)
            await asyncio.sleep(max(0.0, duty.due_ms - self._clock.monotonic_ms()) / 1000.0)
            try:
                await duty.run()
            except Exception:
                logger.exception("%s failed; it is tried again in %d ms", duty.name, duty.interval_ms)
            duty.due_ms = self._clock.monotonic_ms() + duty.interval_ms

    # ------------------------------------------------------------------ duties

    async def enforce_retention(self) -> None:
        now_ms = self._clock.now_ms()

        def visit(partition: Partition) -> None:
            log = partition.log
            log.roll_if_due(now_ms)
            self.segments_deleted += log.delete_due_segments(now_ms, limit_offset=partition.high_watermark)

        await self._for_each(visit)
        await self.flush_due()  # what rolled: only then may all that stood before it go
        await self._for_each(visit)

    async def flush_due(self) -> None:
        """Flushes closed segments, and the active one where `flush.ms` or `flush.messages` ask for it.

        A closed segment that is flushed needs no recovery: this is what keeps a start after a crash
        short, whatever the topic's durability is.
        """
        now_ms = self._clock.now_ms()
        due = [p for p in self._replicas.partitions.values() if p.log.needs_flush(now_ms)]
        for partition in due:
            if partition.is_open:
                started_ms = self._clock.monotonic_ms()
                try:
                    await asyncio.to_thread(partition.log.flush)
                    self.flush_count += 1
                    self.flush_seconds += (self._clock.monotonic_ms() - started_ms) / 1000.0
                except DiskError as error:
                    self._meet(error, partition)
                except OSError as error:  # nobody knows what reached the disk
                    partition.fail(error)

    async def purge(self) -> None:
        """Removes what was deleted long enough ago that nobody reads it any more."""
        now_ms = self._clock.now_ms()
        for partition in list(self._replicas.partitions.values()):
            if partition.is_open and partition.log.has_deleted_segments:
                try:
                    await asyncio.to_thread(partition.log.purge_deleted, now_ms)
                except DiskError as error:
                    self._meet(error, partition)
        await asyncio.to_thread(self._directories.purge_deleted, now_ms)

    async def checkpoint(self) -> None:
        await asyncio.to_thread(self._directories.checkpoint)

    async def expire_producers(self) -> None:
        now_ms = self._clock.now_ms()
        expiration_ms = self._config().producer_id_expiration_ms

        def visit(partition: Partition) -> None:
            partition.log.producers.remove_expired(now_ms, expiration_ms)

        await self._for_each(visit)

    async def _for_each(self, visit: Callable[[Partition], None]) -> None:
        """Visits every partition, giving the loop back between slices."""
        slice_end = self._clock.monotonic_ms() + _SLICE_MS
        for partition in list(self._replicas.partitions.values()):
            if partition.is_open:
                try:
                    visit(partition)
                except (OSError, DiskError) as error:
                    self._meet(error, partition)
            if self._clock.monotonic_ms() > slice_end:
                await asyncio.sleep(0)
                slice_end = self._clock.monotonic_ms() + _SLICE_MS

    def _meet(self, error: OSError | DiskError, partition: Partition) -> None:
        """A full disk or a damaged batch is met again at the next turn of the duty; all else is the end."""
        if not partition.is_open:
            return
        passing = is_passing(error) if isinstance(error, OSError) else error.is_passing
        if passing or isinstance(error, LogCorrupt):
            logger.warning("%s: %s", partition.topic_partition, error)
        else:
            partition.fail(error)
