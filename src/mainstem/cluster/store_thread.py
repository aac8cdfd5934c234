"""The one thread in which the embedded store meets its disk.

Calls go in by a queue and come back to the loop as futures. The thread takes whatever waits, runs
it inside one transaction of SQLite in the order of the calls, commits once, and only then hands out
the answers: a hundred changes that arrive together cost one flush. When the commit fails, all of
the group fail and nothing of it stands.

The thread outlives every error of the disk: a file that could not even be rolled back is closed, and
the next group opens it anew (sqlite_file.py).
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from mainstem.cluster.errors import StoreBusy, StoreClosed
from mainstem.cluster.sqlite_file import SqliteFile
from mainstem.model.errors import BrokerError

T = TypeVar("T")

MAX_WAITING_CALLS = 10_000
MAX_CALLS_PER_COMMIT = 256


class _Call(NamedTuple):
    run: Callable[[SqliteFile], Any]
    answer: asyncio.Future[Any]


class _Answer(NamedTuple):
    answer: asyncio.Future[Any]
    value: Any
    error: BaseException | None


class StoreThread:
    """`on_commit(revision)` runs on the loop after the answers of a group that made new revisions."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        open_file: Callable[[], SqliteFile],
        on_commit: Callable[[int], None],
    ) -> None:
        self._loop = loop
        self._open_file = open_file
        self._on_commit = on_commit
        self._waiting: deque[_Call] = deque()
        self._has_work = threading.Condition()
        self._closing = False
        self._ended = False
        self._opened: asyncio.Future[int] = loop.create_future()
        self._finished = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="metadata-store", daemon=True)

    async def start(self) -> int:
        """Opens the file; returns the revision it stands at."""
        self._thread.start()
        return await self._opened

    def call(self, run: Callable[[SqliteFile], T]) -> asyncio.Future[T]:
        answer: asyncio.Future[T] = self._loop.create_future()
        with self._has_work:
            if self._closing or self._ended:
                raise StoreClosed("the metadata store is closed")
            if len(self._waiting) >= MAX_WAITING_CALLS:
                raise StoreBusy(f"{MAX_WAITING_CALLS} calls wait for the metadata store")
            self._waiting.append(_Call(run, answer))
            self._has_work.notify()
        return answer

    async def close(self) -> None:
        """Finishes what waits, then closes the file."""
        with self._has_work:
            self._closing = True
            self._has_work.notify()
        if self._thread.is_alive():
            await self._finished.wait()
            self._thread.join()  # it has nothing left to do

    # --- in the thread

    def _run(self) -> None:
        file: SqliteFile | None = None
        try:
            try:
                file = self._open_file()
            except BaseException as error:
                self._on_loop(self._settle, [_Answer(self._opened, None, error)], 0)
                return
            self._on_loop(self._settle, [_Answer(self._opened, file.revision, None)], 0)
            while group := self._next_group():
                self._serve(file, group)
        finally:
            if file is not None:
                file.close()
            self._end()

    def _next_group(self) -> list[_Call]:
        with self._has_work:
            while not self._waiting and not self._closing:
                self._has_work.wait()
            count = min(len(self._waiting), MAX_CALLS_PER_COMMIT)
            return [self._waiting.popleft() for _ in range(count)]

    def _serve(self, file: SqliteFile, group: list[_Call]) -> None:
        before = file.revision
        try:
            file.begin()
            answers = [_answered(file, call) for call in group]
            file.commit()
        except Exception as error:
            answers = [_Answer(call.answer, None, error) for call in group]
            file.rollback()
        self._on_loop(self._settle, answers, file.revision if file.revision != before else 0)

    def _end(self) -> None:
        with self._has_work:
            self._ended = True
            left = list(self._waiting)
            self._waiting.clear()
        error = StoreClosed("the metadata store was closed before the call ran")
        self._on_loop(self._settle, [_Answer(call.answer, None, error) for call in left], 0)
        self._on_loop(self._finished.set)

    def _on_loop(self, callback: Callable[..., None], *arguments: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(callback, *arguments)

    # --- on the loop

    def _settle(self, answers: list[_Answer], revision: int) -> None:
        for answer, value, error in answers:
            if answer.done():
                continue  # the caller was cancelled; what it asked for happened all the same
            if error is None:
                answer.set_result(value)
            else:
                answer.set_exception(error)
        if revision:
            self._on_commit(revision)


def _answered(file: SqliteFile, call: _Call) -> _Answer:
    """A refusal changed nothing and is its call's answer; any other error may come from the middle of a
    change, and fails the whole group."""
    try:
        return _Answer(call.answer, call.run(file), None)
    except BrokerError as error:
        return _Answer(call.answer, None, error)
