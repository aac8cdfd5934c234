"""The log below a coordinator, in memory: it commits at once, later, never, or refuses."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from mainstem.model.batch import BatchHeader, Buffer, parse_header
from mainstem.model.records import Record, decode_records

OnCommitted = Callable[[Exception | None], None]


class CoordinatorLog:
    """What a crash leaves is what is committed and as much more as the test says."""

    def __init__(self, *, commits_at_once: bool = True) -> None:
        self.commits_at_once = commits_at_once
        self.log_start_offset = 0
        self.high_watermark = 0
        self.end_offset = 0
        self.refusal: Exception | None = None  # of the next appends
        self.on_refused: Callable[[], None] = lambda: None
        self.read_error: Exception | None = None
        self.appends = 0
        self._batches: list[tuple[int, bytes]] = []
        self._waiting: deque[tuple[int, OnCommitted]] = deque()

    def append(self, batch: Buffer, on_committed: OnCommitted) -> int:
        if self.refusal is not None:
            self.on_refused()
            raise self.refusal
        self.appends += 1
        self._batches.append((self.end_offset, bytes(batch)))
        self.end_offset += parse_header(batch).record_count
        self._waiting.append((self.end_offset, on_committed))
        if self.commits_at_once:
            self.commit()
        return self.end_offset - 1

    @property
    def uncommitted(self) -> int:
        """How many appends wait."""
        return len(self._waiting)

    def commit(self, count: int | None = None) -> None:
        """Commits the oldest `count` appends, or all."""
        for _ in range(len(self._waiting) if count is None else min(count, len(self._waiting))):
            offset, on_committed = self._waiting.popleft()
            self.high_watermark = offset
            on_committed(None)

    def fail(self, error: Exception) -> None:
        """What waits is not committed and never will be; the log keeps it, as a partition does."""
        waiting, self._waiting = self._waiting, deque()
        for _, on_committed in waiting:
            on_committed(error)

    def after_crash(self, kept: int = 0) -> CoordinatorLog:
        """The log of the next process: what was committed, and the first `kept` of the other appends."""
        log = CoordinatorLog(commits_at_once=self.commits_at_once)
        committed = sum(base < self.high_watermark for base, _ in self._batches)
        log._batches = self._batches[: committed + kept]
        if log._batches:
            base, batch = log._batches[-1]
            log.end_offset = log.high_watermark = base + parse_header(batch).record_count
        return log

    def read_batches(self, from_offset: int) -> Iterator[tuple[BatchHeader, memoryview]]:
        if self.read_error is not None:
            raise self.read_error
        for base, batch in list(self._batches):
            header = parse_header(batch)._replace(base_offset=base)
            if header.next_offset > from_offset:
                yield header, memoryview(batch)

    def records(self) -> list[Record]:
        return [record for _, batch in self._batches for record in decode_records(batch)]
