"""A metadata store without a disk: the port's model, for tests of what stands on it.

It passes the same contract as the real ones (tests/unit/cluster/test_store_contract.py). What it adds
is that a test may let calls fail, before or after they took effect, or hold them back.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from mainstem.cluster.errors import LeaseNotFound, RevisionCompacted, StoreClosed
from mainstem.cluster.store import (
    Compare,
    Delete,
    Entry,
    Event,
    Get,
    Operation,
    Put,
    Range,
    TransactionResult,
    WatchBatch,
    check_transaction,
)
from mainstem.ports.clock import Clock, TimerHandle


class MemoryStore:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[bytes, Entry] = {}
        self._history: list[Event] = []
        self._leases: dict[int, tuple[int, TimerHandle]] = {}
        self._last_lease_id = 0
        self._watches: dict[MemoryWatch, None] = {}  # in order: runs must repeat
        self.is_closed = False
        self.revision = 1
        self.oldest_revision = 1
        self.failures: deque[Exception | None] = deque()  # of the next transactions; None: that one works
        self.failures_after: deque[Exception | None] = deque()  # the same, but the change is made
        self.gate: asyncio.Event | None = None  # transactions wait here before they run
        self.transactions = 0

    async def get(self, key: str) -> Entry | None:
        self._check_open()
        await asyncio.sleep(0)
        return self._entries.get(key.encode())

    async def range(self, prefix: str) -> Range:
        self._check_open()
        await asyncio.sleep(0)
        low = prefix.encode()
        found = [entry for key, entry in sorted(self._entries.items()) if key.startswith(low)]
        return Range(tuple(found), self.revision)

    async def transact(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TransactionResult:
        self._check_open()
        check_transaction(compares, then, otherwise)
        for operation in (*then, *otherwise):
            if isinstance(operation, Put) and operation.lease_id and operation.lease_id not in self._leases:
                raise LeaseNotFound(operation.lease_id)
        if self.gate is not None:
            await self.gate.wait()
        await asyncio.sleep(0)
        self._check_open()
        self.transactions += 1
        _raise_next(self.failures)
        succeeded = all(self._holds(compare) for compare in compares)
        branch = then if succeeded else otherwise
        found = tuple(self._entries.get(each.key.encode()) for each in branch if isinstance(each, Get))
        self._apply([each for each in branch if not isinstance(each, Get)])
        _raise_next(self.failures_after)
        return TransactionResult(succeeded, self.revision, found)

    def _holds(self, compare: Compare) -> bool:
        entry = self._entries.get(compare.key.encode())
        return (
            compare.exists in (None, entry is not None)
            and compare.mod_revision in (None, entry.mod_revision if entry else 0)
            and (compare.value is None or (entry is not None and compare.value == entry.value))
        )

    def _apply(self, changes: Sequence[Put | Delete]) -> None:
        revision = self.revision + 1
        for change in changes:
            key = change.key.encode()
            before = self._entries.get(key)
            if isinstance(change, Put):
                made = before.create_revision if before else revision
                self._entries[key] = Entry(change.key, change.value, made, revision, change.lease_id)
            elif before is None:
                continue
            else:
                del self._entries[key]
            value = change.value if isinstance(change, Put) else None
            self._history.append(Event(change.key, value, revision))
            self.revision = revision
        for watch in self._watches:
            watch.moved.set()

    # --- watches

    def watch(self, prefix: str, from_revision: int) -> MemoryWatch:
        watch = MemoryWatch(self, prefix, from_revision, lambda gone: self._watches.pop(gone, None))
        self._watches[watch] = None
        return watch

    def events(self, prefix: str, from_revision: int) -> WatchBatch:
        if from_revision < self.oldest_revision:
            raise RevisionCompacted(from_revision, self.oldest_revision)
        events = [e for e in self._history if e.revision >= from_revision and e.key.startswith(prefix)]
        return WatchBatch(tuple(events), self.revision)

    async def compact(self, oldest_revision: int) -> None:
        self.oldest_revision = min(oldest_revision, self.revision)
        self._history = [event for event in self._history if event.revision >= self.oldest_revision]

    # --- leases

    async def grant_lease(self, ttl_ms: int) -> int:
        self._check_open()
        self._last_lease_id += 1
        self._start_lease(self._last_lease_id, ttl_ms)
        return self._last_lease_id

    def _start_lease(self, lease_id: int, ttl_ms: int) -> None:
        timer = self._clock.call_later(ttl_ms, lambda: self.end_lease(lease_id))
        self._leases[lease_id] = ttl_ms, timer

    async def keep_alive(self, lease_id: int) -> None:
        self._check_open()
        if lease_id not in self._leases:
            raise LeaseNotFound(lease_id)
        ttl_ms, timer = self._leases[lease_id]
        timer.cancel()
        self._start_lease(lease_id, ttl_ms)

    async def revoke(self, lease_id: int) -> None:
        self.end_lease(lease_id)

    def end_lease(self, lease_id: int) -> None:
        lease = self._leases.pop(lease_id, None)
        if lease is not None:
            lease[1].cancel()
            self._apply([Delete(e.key) for e in list(self._entries.values()) if e.lease_id == lease_id])

    async def close(self) -> None:
        self.is_closed = True
        for _, timer in self._leases.values():
            timer.cancel()
        for watch in list(self._watches):
            watch.close()

    def _check_open(self) -> None:
        if self.is_closed:
            raise StoreClosed("the metadata store is closed")


class MemoryWatch:
    def __init__(
        self, store: MemoryStore, prefix: str, from_revision: int, on_close: Callable[[MemoryWatch], object]
    ) -> None:
        self._store = store
        self._prefix = prefix
        self._next_revision = from_revision
        self._on_close = on_close
        self._is_closed = False
        self.moved = asyncio.Event()

    def __aiter__(self) -> MemoryWatch:
        return self

    async def __anext__(self) -> WatchBatch:
        while not self._is_closed:
            self.moved.clear()
            await asyncio.sleep(0)
            if self._next_revision <= self._store.revision:
                batch = self._store.events(self._prefix, self._next_revision)
                self._next_revision = batch.revision + 1
                if batch.events:
                    return batch
            if not self._is_closed and self._next_revision > self._store.revision:
                await self.moved.wait()
        raise StopAsyncIteration

    def close(self) -> None:
        self._is_closed = True
        self._on_close(self)
        self.moved.set()


def _raise_next(failures: deque[Exception | None]) -> None:
    error = failures.popleft() if failures else None
    if error is not None:
        raise error
