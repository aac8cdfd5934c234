"""When an append may be called durable: group commit, one thread per log directory.

`commit` is called on the loop after the append reached the page cache. What one turn of the loop
brings is handed to the directory's thread in one piece; whatever arrives while that thread waits
for the disk shares its next round. A round makes each of its logs durable in one of two ways:

- *journal*: the log's appends go into the directory's journal, all logs with one write and one
  flush (see journal.py);
- *direct*: the partition file itself is flushed. That is cheaper where a log brings many bytes,
  because they are not written twice, and it is needed where the journal alone would not do: when
  the log holds earlier appends that are neither flushed nor journaled (a topic that has just been
  switched to `acks.after=disk`), when an append is larger than a piece, and when the disk is too
  full for a journal.

After a failed flush nobody knows what reached the disk. The directory is given up: the waiting
commits and all later ones get the error, and nothing is tried again.

Memory: a round holds no copy of what it waits for. The buffers belong to requests that were not
answered yet, and the server bounds those; `pending_bytes` says how much of that waits here.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple, Protocol

from mainstem.log.errors import LogDirectoryFailed
from mainstem.log.journal import Journal, JournaledLog, NoRoom
from mainstem.log.journal_format import APPEND, TRUNCATE, JournalEntry, round_bytes
from mainstem.log.staged import AppendRun
from mainstem.model.errors import DiskError

_logger = logging.getLogger(__name__)

OnDurable = Callable[[Exception | None], None]


class CommittedLog(JournaledLog, Protocol):
    """What group commit needs of a partition log."""

    @property
    def directory(self) -> str:
        """The partition's folder; its parent is the log directory."""
        ...


class Durability(Protocol):
    def commit(self, log: CommittedLog, run: AppendRun, on_durable: OnDurable) -> None:
        """Called on the loop; `on_durable` runs on the loop once the run is on stable storage."""
        ...

    def forget(self, log: CommittedLog) -> None:
        """The log was deleted: nothing waits for its files any more."""
        ...

    async def close(self) -> None:
        """Returns when everything that was committed before has been answered."""
        ...


@dataclass(frozen=True, slots=True)
class CommitLimits:
    """The measured choices; docs/decisions/ has the figures."""

    direct_bytes: int = 256 * 1024  # a log that brings at least this in a round is flushed directly
    max_round_bytes: int = 8 * 1024 * 1024  # what arrives beyond it waits for the next round
    flush_threads: int = 4


class Commit(NamedTuple):
    log: CommittedLog
    run: AppendRun
    on_durable: OnDurable


class CommitStatistics:
    """What metrics read; written by one thread."""

    __slots__ = ("bytes", "direct_flushes", "journal_rounds", "rounds", "seconds")

    def __init__(self) -> None:
        self.rounds = 0
        self.bytes = 0
        self.journal_rounds = 0
        self.direct_flushes = 0
        self.seconds = 0.0


class _LogRuns:
    """The runs of one log in a round."""

    __slots__ = ("log", "runs", "size_bytes")

    def __init__(self, log: CommittedLog) -> None:
        self.log = log
        self.runs: list[AppendRun] = []
        self.size_bytes = 0


class DirectoryCommit:
    """One round after the other for one log directory: the part without threads of its own.

    Called by one thread. Simulations call it directly.
    """

    def __init__(
        self,
        journal: Journal | None,
        limits: CommitLimits,
        *,
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        self._journal = journal
        self._limits = limits
        self._pool = pool
        self._failure: LogDirectoryFailed | None = None
        # Up to here each log is flushed or in the journal, without a gap.
        self._covered: dict[CommittedLog, int] = {}
        self.statistics = CommitStatistics()

    def run(self, commits: Iterable[Commit]) -> None:
        """Returns when every run of `commits` is on stable storage. Raises `LogDirectoryFailed`."""
        if self._failure is not None:
            raise self._failure
        started = time.perf_counter()
        by_log: dict[CommittedLog, _LogRuns] = {}
        for log, run, _ in commits:
            if run.next_offset == run.first_offset:
                continue  # duplicates only: durable, or in an earlier round than this
            runs = by_log.get(log)
            if runs is None:
                runs = by_log[log] = _LogRuns(log)
            runs.runs.append(run)
            runs.size_bytes += run.size_bytes
        try:
            self._make_durable(by_log.values())
        except (OSError, DiskError) as error:
            failure = LogDirectoryFailed(f"a flush failed, the log directory is given up: {error}")
            failure.__cause__ = error
            self._failure = failure
            raise failure from error
        statistics = self.statistics
        statistics.rounds += 1
        statistics.bytes += sum(runs.size_bytes for runs in by_log.values())
        statistics.seconds += time.perf_counter() - started

    def forget(self, log: CommittedLog) -> None:
        self._covered.pop(log, None)
        if self._journal is not None:
            self._journal.forget(log)

    def truncated(self, log: CommittedLog, offset: int) -> None:
        """Makes it durable that `log` was cut back to `offset`, before it appends again."""
        self._covered.pop(log, None)
        if self._journal is not None:
            entry = JournalEntry(TRUNCATE, log.topic_id, log.topic_partition.partition, offset, offset, 0, [])
            self._journal.append([entry], [log])

    def _make_durable(self, all_runs: Iterable[_LogRuns]) -> None:
        direct: list[CommittedLog] = []
        journaled: list[_LogRuns] = []
        for runs in all_runs:
            if self._goes_direct(runs):
                direct.append(runs.log)
            else:
                journaled.append(runs)
        flushes = self._start_flushes(direct) if len(direct) > 1 or (direct and journaled) else []
        try:
            if journaled:
                self._write_journal(journaled)
            if direct and not flushes:
                self._flush(direct[0])
        finally:
            results = [(flush.exception(), flush) for flush in flushes]
        for error, _ in results:
            if error is not None:
                raise error

    def _goes_direct(self, runs: _LogRuns) -> bool:
        if self._journal is None or runs.size_bytes >= self._limits.direct_bytes:
            return True
        log, first_offset = runs.log, runs.runs[0].first_offset
        covered = self._covered.get(log, -1)
        return first_offset > covered and first_offset > log.recovery_point

    def _start_flushes(self, logs: Sequence[CommittedLog]) -> list[Future[None]]:
        if self._pool is None:
            for log in logs:
                self._flush(log)
            return []
        return [self._pool.submit(self._flush, log) for log in logs]

    def _flush(self, log: CommittedLog) -> None:
        try:
            flushed = log.flush()
        except (OSError, DiskError):
            if log.is_closed:  # deleted while its commit waited
                return
            raise
        self._covered[log] = max(flushed, self._covered.get(log, -1))
        self.statistics.direct_flushes += 1

    def _write_journal(self, all_runs: Sequence[_LogRuns]) -> None:
        journal = self._journal
        assert journal is not None
        limit = min(journal.max_round_bytes, self._limits.max_round_bytes)
        entries: list[JournalEntry] = []
        logs: list[CommittedLog] = []
        size = 0
        for runs in all_runs:
            log = runs.log
            topic_id, partition = log.topic_id, log.topic_partition.partition
            for run in runs.runs:
                if entries and round_bytes(len(entries) + 1, size + run.size_bytes) > limit:
                    self._append_round(entries, logs)
                    entries, logs, size = [], [], 0
                entries.append(
                    JournalEntry(
                        APPEND,
                        topic_id,
                        partition,
                        run.first_offset,
                        run.next_offset,
                        run.size_bytes,
                        run.buffers,
                    )
                )
                logs.append(log)
                size += run.size_bytes
        self._append_round(entries, logs)

    def _append_round(self, entries: Sequence[JournalEntry], logs: Sequence[CommittedLog]) -> None:
        assert self._journal is not None
        try:
            self._journal.append(entries, logs)
        except NoRoom:
            for flush in self._start_flushes(list(dict.fromkeys(logs))):
                flush.result()
            return
        self.statistics.journal_rounds += 1
        covered = self._covered
        for entry, log in zip(entries, logs, strict=True):
            if not log.is_closed:  # a deleted log is not to be remembered again
                covered[log] = entry.next_offset


class _CommitThread:
    """The threads of one directory: one commits, one flushes partition files to free the journal."""

    def __init__(
        self,
        name: str,
        rounds: DirectoryCommit,
        journal: Journal | None,
        limits: CommitLimits,
        loop: asyncio.AbstractEventLoop,
        on_failed: Callable[[Exception], None],
    ) -> None:
        self.rounds = rounds
        self._journal = journal
        self._limits = limits
        self._loop = loop
        self._on_failed = on_failed
        self._has_reported = False
        self._work: SimpleQueue[list[Commit] | None] = SimpleQueue()
        self._wake_flusher: SimpleQueue[bool] = SimpleQueue()
        self._turn: list[Commit] = []
        self._is_closing = False
        self.pending_bytes = 0  # the loop's own count
        self._threads = [threading.Thread(target=self._commit_rounds, name=f"commit {name}", daemon=True)]
        if journal is not None:
            self._threads.append(
                threading.Thread(target=self._release_pieces, name=f"flush {name}", daemon=True)
            )
        for thread in self._threads:
            thread.start()

    # -- on the loop ---------------------------------------------------------------------------

    def commit(self, commit: Commit) -> None:
        if self._is_closing:
            raise LogDirectoryFailed("the broker is stopping")
        if not self._turn:
            self._loop.call_soon(self._hand_over)
        self._turn.append(commit)
        self.pending_bytes += commit.run.size_bytes

    def _hand_over(self) -> None:
        if self._turn:
            self._work.put(self._turn)
            self._turn = []

    def _finish(self, commits: Sequence[Commit], error: Exception | None) -> None:
        if error is not None and not self._has_reported:
            self._has_reported = True
            self._on_failed(error)
        for _, run, on_durable in commits:
            self.pending_bytes -= run.size_bytes
            try:
                on_durable(error)
            except Exception:
                _logger.exception("a commit's callback failed")

    async def close(self) -> None:
        self._is_closing = True
        self._hand_over()
        self._work.put(None)
        await self._loop.run_in_executor(None, self._join)
        # The last round's answers were queued on the loop before the thread ended.
        await asyncio.sleep(0)

    def _join(self) -> None:
        self._threads[0].join()
        self._wake_flusher.put(False)
        for thread in self._threads[1:]:
            thread.join()

    # -- in the threads ------------------------------------------------------------------------

    def _commit_rounds(self) -> None:
        is_open = True
        while is_open:
            commits = self._work.get()
            if commits is None:
                return
            size = sum(commit.run.size_bytes for commit in commits)
            while size < self._limits.max_round_bytes:
                try:
                    more = self._work.get_nowait()
                except Empty:
                    break
                if more is None:
                    is_open = False
                    break
                commits += more
                size += sum(commit.run.size_bytes for commit in more)
            self._answer(commits, self._run_round(commits))
            journal = self._journal
            if journal is None or not (journal.is_filling or journal.needs_piece):
                continue
            if self._wake_flusher.empty():
                self._wake_flusher.put(True)

    def _run_round(self, commits: list[Commit]) -> Exception | None:
        try:
            self.rounds.run(commits)
        except LogDirectoryFailed as error:
            return error
        except Exception as error:
            _logger.exception("a commit round failed")
            return LogDirectoryFailed(f"a commit round failed: {error}")
        return None

    def _answer(self, commits: Sequence[Commit], error: Exception | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._finish, commits, error)
        except RuntimeError:  # the loop was closed under us: nobody waits any more
            _logger.warning("a commit round ended after the loop was closed")

    def _release_pieces(self) -> None:
        assert self._journal is not None
        while self._wake_flusher.get():
            try:
                if self._journal.needs_piece:
                    self._journal.prepare_piece()
                while self._journal.is_filling or self._journal.has_flushed_oldest:
                    self._journal.release_oldest()
            except LogDirectoryFailed as error:
                self._answer((), error)
                return


DEFAULT_LIMITS: Final = CommitLimits()


class GroupCommit:
    """`Durability` over all log directories; a directory fails alone."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        journals: Mapping[str, Journal | None],
        on_directory_failed: Callable[[str, Exception], None],
        *,
        limits: CommitLimits = DEFAULT_LIMITS,
    ) -> None:
        """`journals` has every log directory; None there means that files are flushed directly."""
        self._pool = ThreadPoolExecutor(limits.flush_threads, thread_name_prefix="flush")
        self._directories: dict[str, _CommitThread] = {}
        for number, (directory, journal) in enumerate(journals.items()):
            self._directories[directory] = _CommitThread(
                str(number),
                DirectoryCommit(journal, limits, pool=self._pool),
                journal,
                limits,
                loop,
                lambda error, directory=directory: on_directory_failed(directory, error),  # type: ignore[misc]
            )

    def commit(self, log: CommittedLog, run: AppendRun, on_durable: OnDurable) -> None:
        self._thread_of(log).commit(Commit(log, run, on_durable))

    def forget(self, log: CommittedLog) -> None:
        """The log was deleted."""
        self._thread_of(log).rounds.forget(log)

    @property
    def pending_bytes(self) -> int:
        return sum(thread.pending_bytes for thread in self._directories.values())

    def statistics(self) -> dict[str, CommitStatistics]:
        return {directory: thread.rounds.statistics for directory, thread in self._directories.items()}

    def _thread_of(self, log: CommittedLog) -> _CommitThread:
        return self._directories[log.directory.rpartition("/")[0]]

    async def close(self) -> None:
        await asyncio.gather(*(thread.close() for thread in self._directories.values()))
        self._pool.shutdown()
