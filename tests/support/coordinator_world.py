"""One coordinator over a log in memory, on one partition of its topic: its lives, and who waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, Generic, Protocol, Self, TypeVar

from tests.support.coordinator_log import CoordinatorLog
from tests.support.simulated_clock import SimulatedClock, settle

from mainstem.core.coordinator.runtime import ShardLog


class HostedOnOnePartition(Protocol):
    def on_leader(self, partition: int, epoch: int, log: ShardLog) -> None: ...

    async def loaded(self) -> None: ...

    def close(self) -> None: ...


C = TypeVar("C", bound=HostedOnOnePartition)
T = TypeVar("T")


class CoordinatorWorld(Generic[C]):
    coordinator: C

    def __init__(self) -> None:
        self.clock = SimulatedClock()
        self.log = CoordinatorLog()
        self.epoch = 0
        self._tasks: list[asyncio.Task[Any]] = []

    def make_coordinator(self) -> C:
        raise NotImplementedError

    async def start(self, log: CoordinatorLog | None = None) -> Self:
        self.log = log or self.log
        self.epoch += 1
        self.coordinator = self.make_coordinator()
        self.coordinator.on_leader(0, self.epoch, self.log)
        await self.coordinator.loaded()
        return self

    async def restart(self, *, kept: int = 0) -> None:
        """The process dies, and the next one reads the log; `kept` uncommitted appends survive."""
        log = self.log.after_crash(kept)
        self.coordinator.close()
        await settle()
        await self.start(log)
        await settle()

    async def close(self) -> None:
        self.coordinator.close()
        await settle()
        assert all(task.done() for task in self._tasks), "somebody waits for ever"
        await asyncio.gather(*self._tasks, return_exceptions=True)
        assert self.clock.pending == 0, "a timer is left behind"

    def start_task(self, waiting: Awaitable[T]) -> asyncio.Task[T]:
        async def run() -> T:
            return await waiting

        task = asyncio.ensure_future(run())
        self._tasks.append(task)
        return task
