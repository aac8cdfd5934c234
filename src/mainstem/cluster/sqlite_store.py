"""The embedded metadata store: the port over one SQLite file, for a cluster of one machine.

Leases live in this process: their keys are in the file, their time is not. A lease whose process
ended is ended by the next open, which cannot happen while the process lives because the file is
locked. A lease whose time is over is looked at once more, a little later, before it ends: its holder
lives on the same loop, and when the loop stood still the holder was not dead but could not speak.

A watch reads the file's history from where it stands whenever a commit moved the revision on: it keeps
no queue, so a slow reader costs no memory, and a read that was cancelled is repeated.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from mainstem.cluster.errors import LeaseNotFound
from mainstem.cluster.sqlite_file import SqliteFile
from mainstem.cluster.store import (
    Compare,
    Entry,
    Operation,
    Put,
    Range,
    TransactionResult,
    WatchBatch,
    check_transaction,
)
from mainstem.cluster.store_thread import StoreThread
from mainstem.ports.clock import Clock, TimerHandle

T = TypeVar("T")

SECOND_LOOK = 0.1  # of a lease's time: so much later it ends

_log = logging.getLogger(__name__)


class _Lease:
    __slots__ = ("deadline_ms", "is_overdue", "timer", "ttl_ms")

    def __init__(self, ttl_ms: int, deadline_ms: float, timer: TimerHandle) -> None:
        self.ttl_ms = ttl_ms
        self.deadline_ms = deadline_ms
        self.is_overdue = False  # its time was over when it was looked at; the next look ends it
        self.timer = timer  # due at the deadline or, after a keep-alive, before it


class SqliteMetadataStore:
    """Made by `open_sqlite_store`; used from one loop."""

    def __init__(self, path: str, clock: Clock, *, history_revisions: int, history_bytes: int) -> None:
        self._clock = clock
        self._revision = 0
        self._leases: dict[int, _Lease] = {}
        self._last_lease_id = 0
        self._watches: set[SqliteWatch] = set()
        self._endings: set[asyncio.Task[None]] = set()
        self._thread = StoreThread(
            asyncio.get_running_loop(),
            lambda: SqliteFile(path, history_revisions=history_revisions, history_bytes=history_bytes),
            self._committed,
        )

    async def start(self) -> None:
        self._revision = await self._thread.start()
        await self._thread.call(lambda file: file.end_leases(None))

    @property
    def revision(self) -> int:
        return self._revision

    async def call(self, run: Callable[[SqliteFile], T]) -> T:
        return await self._thread.call(run)

    async def get(self, key: str) -> Entry | None:
        return await self.call(lambda file: file.get(key))

    async def range(self, prefix: str) -> Range:
        return await self.call(lambda file: file.range(prefix))

    async def transact(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TransactionResult:
        check_transaction(compares, then, otherwise)
        for branch in (then, otherwise):
            for operation in branch:
                if isinstance(operation, Put) and operation.lease_id:
                    self._live_lease(operation.lease_id)
        return await self.call(lambda file: file.transact(compares, then, otherwise))

    def watch(self, prefix: str, from_revision: int) -> SqliteWatch:
        watch = SqliteWatch(self, prefix, from_revision, self._watches.discard)
        self._watches.add(watch)
        return watch

    async def compact(self, oldest_revision: int) -> None:
        await self.call(lambda file: file.compact(oldest_revision))

    async def close(self) -> None:
        for lease in self._leases.values():
            lease.timer.cancel()
        self._leases.clear()
        for watch in list(self._watches):
            watch.close()
        if self._endings:
            await asyncio.gather(*self._endings, return_exceptions=True)
        await self._thread.close()

    def _committed(self, revision: int) -> None:
        self._revision = revision
        for watch in self._watches:
            watch.wake()

    # --- leases

    async def grant_lease(self, ttl_ms: int) -> int:
        self._last_lease_id += 1
        lease_id = self._last_lease_id
        self._leases[lease_id] = _Lease(
            ttl_ms, self._clock.monotonic_ms() + ttl_ms, self._expiry_timer(lease_id, ttl_ms)
        )
        return lease_id

    async def keep_alive(self, lease_id: int) -> None:
        lease = self._live_lease(lease_id)
        lease.deadline_ms = self._clock.monotonic_ms() + lease.ttl_ms
        lease.is_overdue = False

    async def revoke(self, lease_id: int) -> None:
        lease = self._leases.pop(lease_id, None)
        if lease is not None:
            lease.timer.cancel()
            await self.call(lambda file: file.end_leases((lease_id,)))

    def _live_lease(self, lease_id: int) -> _Lease:
        lease = self._leases.get(lease_id)
        if lease is None:
            raise LeaseNotFound(lease_id)
        return lease

    def _expiry_timer(self, lease_id: int, delay_ms: float) -> TimerHandle:
        return self._clock.call_later(delay_ms, lambda: self._expire_if_due(lease_id))

    def _expire_if_due(self, lease_id: int) -> None:
        lease = self._leases.get(lease_id)
        if lease is None:
            return
        left_ms = lease.deadline_ms - self._clock.monotonic_ms()
        if left_ms > 0:
            lease.timer = self._expiry_timer(lease_id, left_ms)
            return
        if not lease.is_overdue:
            lease.is_overdue = True
            lease.timer = self._expiry_timer(lease_id, lease.ttl_ms * SECOND_LOOK)
            return
        del self._leases[lease_id]
        task = asyncio.get_running_loop().create_task(self._end_lease(lease_id))
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    async def _end_lease(self, lease_id: int) -> None:
        try:
            await self.call(lambda file: file.end_leases((lease_id,)))
        except Exception:
            _log.exception("the keys of an expired lease could not be removed; the next start removes them")


class SqliteWatch:
    def __init__(
        self,
        store: SqliteMetadataStore,
        prefix: str,
        from_revision: int,
        on_close: Callable[[SqliteWatch], None],
    ) -> None:
        self._store = store
        self._prefix = prefix
        self._next_revision = from_revision
        self._on_close = on_close
        self._moved = asyncio.Event()
        self._closed = False

    def __aiter__(self) -> SqliteWatch:
        return self

    async def __anext__(self) -> WatchBatch:
        while not self._closed:
            self._moved.clear()
            if self._next_revision > self._store.revision:
                await self._moved.wait()
                continue
            batch = await self._store.call(partial(self._read, self._next_revision))
            self._next_revision = batch.revision + 1
            if batch.events:
                return batch
        raise StopAsyncIteration

    def _read(self, from_revision: int, file: SqliteFile) -> WatchBatch:
        return file.events(self._prefix, from_revision)

    def wake(self) -> None:
        self._moved.set()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._on_close(self)
            self._moved.set()


async def open_sqlite_store(
    path: str, clock: Clock, *, history_revisions: int = 1_000, history_bytes: int = 64 << 20
) -> SqliteMetadataStore:
    """Opens or makes the file. Raises `MetadataDamaged`, `MetadataTooNew`, `MetadataInUse`."""
    store = SqliteMetadataStore(path, clock, history_revisions=history_revisions, history_bytes=history_bytes)
    try:
        await store.start()
    except BaseException:
        await store.close()
        raise
    return store
