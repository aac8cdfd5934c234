"""The life of one shard: one partition of an internal topic and the state that its records make.

    decide -> Result -> append (one batch a turn) -> replay -> applied -> committed -> settled, answered

**Replayed state** is what the records say: it changes in `Shard.replay` and nowhere else, whether the records
come from a decision of this moment or from the log after a restart or a change of leader. It is therefore the
same in both cases, and a shard can be dropped and loaded again at any time.

**Volatile state** is what a restart may forget: who waits for an answer, timers, a rebalance that has not
come to an end. A decision may change it at once; what follows from records changes in `Result.applied`, so
that a refused append leaves it as it was.

**Gathering.** Decisions are taken at once, but their records are appended at the end of the loop's turn, in
one batch. A decision must see what earlier decisions did, so each names its *scope* (for groups: the group
id): if records of that scope wait for the end of the turn, they are appended first. A decision that is
`blind` reads nothing that other blind decisions write (an offset commit looks at the members, never at
offsets) and waits only for records of those that are not.

**Committed.** A response leaves when the records behind it are committed, and so does every response that was
decided later, records or not: nothing is told to a client that a change of leader could take back. Should a
commit fail after the append, memory is ahead of the log: the shard is given up and loaded again.

States: RESIGNED -> LOADING -> ACTIVE -> RESIGNED; LOADING and ACTIVE -> FAILED -> LOADING when the storage
fails.

Bounds: a batch is closed at `MAX_BATCH_BYTES`; beyond `MAX_UNCOMMITTED_RECORDS` decisions are refused.
Loading holds one chunk in memory and replays a slice of it at a time, so that the loop is never held for
long.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, Generic, Protocol, TypeVar

from mainstem.core.coordinator.errors import coordinator_error
from mainstem.core.coordinator.loading import LoadedChunk, PendingRecord, TransactionEnd, read_chunk
from mainstem.core.coordinator.result import Result
from mainstem.core.errors import CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator
from mainstem.model.batch import BatchHeader, Buffer, parse_header
from mainstem.model.errors import MainstemError
from mainstem.model.records import NewRecord, build_batch
from mainstem.ports.clock import Clock, TimerHandle

MAX_BATCH_BYTES: Final = 512 * 1024
MAX_UNCOMMITTED_RECORDS: Final = 200_000
REPLAY_SLICE_RECORDS: Final = 2_000
RELOAD_DELAY_MS: Final = 1_000

R = TypeVar("R")
R_contra = TypeVar("R_contra", contravariant=True)
_log = logging.getLogger(__name__)


class ShardLog(Protocol):
    """What a shard needs of its partition."""

    @property
    def log_start_offset(self) -> int: ...

    @property
    def high_watermark(self) -> int: ...

    def append(self, batch: Buffer, on_committed: Callable[[Exception | None], None]) -> int:
        """Appends, as leader, and returns the last offset; raises when nothing was appended.

        `on_committed` runs on the loop, in the order of the appends; it may run before this returns.
        """
        ...

    def read_batches(self, from_offset: int) -> Iterator[tuple[BatchHeader, memoryview]]:
        """All batches to the end of the log. Blocks: called in a thread."""
        ...


class Shard(Protocol[R]):
    """The state of one partition and the codec of its records."""

    def encode(self, record: R) -> tuple[bytes, bytes | None]:
        """Key and value; no value is a tombstone."""
        ...

    def decode(self, key: bytes, value: bytes | None) -> R | None:
        """Nothing for a record of a kind that this version does not know. Runs in a thread."""
        ...

    def replay(self, record: R) -> None: ...

    def clear(self, error: Exception) -> None:
        """Drops all state, replayed and volatile; whoever waits gets `error`."""
        ...

    def on_loaded(self) -> None:
        """All records are replayed: timers may start."""
        ...


class TransactionalShard(Protocol[R_contra]):
    """What a shard does in whose log there are transactions: its own records are then part of theirs."""

    def replay_pending(self, producer_id: int, record: R_contra) -> None: ...

    def replay_end(self, producer_id: int, is_commit: bool) -> None: ...


class ShardState(enum.Enum):
    RESIGNED = "resigned"
    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"


class _Turn(Generic[R]):
    """What one turn of the loop decided: becomes one batch."""

    __slots__ = ("batch", "encoded", "is_abandoned", "is_committed", "record_count", "results", "size_bytes")

    def __init__(self) -> None:
        self.results: list[Result[R]] = []
        self.encoded: list[NewRecord] = []  # until they are appended
        self.batch: Buffer | None = None  # in place of what is encoded
        self.record_count = 0
        self.size_bytes = 0
        self.is_committed = False
        self.is_abandoned = False


class ShardRuntime(Generic[R]):
    def __init__(
        self, name: str, shard: Shard[R], clock: Clock, transactions: TransactionalShard[R] | None = None
    ) -> None:
        self.name = name
        self.state = ShardState.RESIGNED
        self.epoch = -1  # of the leadership; grows
        self.appends = 0
        self.appended_records = 0
        self.failed_appends = 0
        self.unknown_records = 0  # skipped while loading
        self._shard = shard
        self._transactions = transactions  # None: there are none in this log
        self._clock = clock
        self._log: ShardLog | None = None
        self._load: asyncio.Task[None] | None = None
        self._reload_timer: TimerHandle | None = None
        self._turn: _Turn[R] = _Turn()
        self._scopes: set[str] = set()  # with records in this turn
        self._sighted_scopes: set[str] = set()  # the same, of decisions that are not blind
        self._flush_handle: asyncio.Handle | None = None
        self._in_flight: deque[_Turn[R]] = deque()
        self._uncommitted_records = 0
        self._is_flushing = False

    # --- leadership

    def on_leader(self, epoch: int, log: ShardLog) -> None:
        if epoch < self.epoch or (epoch == self.epoch and self.state is not ShardState.RESIGNED):
            return
        if self.state is not ShardState.RESIGNED:
            self._give_up(NotCoordinator(f"{self.name}: led anew in epoch {epoch}"), ShardState.RESIGNED)
        self.epoch = epoch
        self._log = log
        self._start_loading()

    def on_resigned(self, epoch: int) -> None:
        if epoch < self.epoch:
            return
        self.epoch = epoch
        if self.state is not ShardState.RESIGNED:
            self._give_up(NotCoordinator(f"{self.name} is led elsewhere"), ShardState.RESIGNED)
        self._log = None

    async def loaded(self) -> None:
        """Waits for the load that is under way, if any."""
        while self.state is ShardState.LOADING and self._load is not None:
            await asyncio.wait([self._load])

    def _start_loading(self) -> None:
        self.state = ShardState.LOADING
        self._load = asyncio.get_running_loop().create_task(self._run_load(), name=f"load {self.name}")

    async def _run_load(self) -> None:
        assert self._log is not None
        log = self._log
        started_ms = self._clock.monotonic_ms()
        count = 0
        try:
            batches = log.read_batches(log.log_start_offset)
            while True:
                chunk: LoadedChunk[R] = await asyncio.to_thread(
                    read_chunk, batches, self._shard.decode, self._transactions is not None
                )
                self.unknown_records += chunk.skipped
                for start in range(0, len(chunk.records), REPLAY_SLICE_RECORDS):
                    for record in chunk.records[start : start + REPLAY_SLICE_RECORDS]:
                        self._replay_loaded(record)
                    await asyncio.sleep(0)
                count += len(chunk.records)
                if chunk.is_last:
                    break
        except MainstemError as error:
            self._load = None
            self._fail(error)
            return
        except Exception as error:  # a defect must not leave the shard loading for ever
            _log.exception("%s: loading failed", self.name)
            self._load = None
            self._fail(error)
            return
        self._load = None
        self.state = ShardState.ACTIVE
        self._shard.on_loaded()
        took_ms = self._clock.monotonic_ms() - started_ms
        level = logging.INFO if count else logging.DEBUG
        _log.log(level, "%s: loaded %d records in %.0f ms", self.name, count, took_ms)

    def _replay_loaded(self, record: R | PendingRecord[R] | TransactionEnd) -> None:
        transactions = self._transactions
        if transactions is None or not isinstance(record, PendingRecord | TransactionEnd):
            self._shard.replay(record)  # type: ignore[arg-type]
        elif isinstance(record, PendingRecord):
            transactions.replay_pending(record.producer_id, record.record)
        else:
            transactions.replay_end(record.producer_id, record.is_commit)

    def _fail(self, error: Exception) -> None:
        """Memory and log may differ: everything is dropped and loaded again after a while."""
        _log.error("%s: given up and to be loaded again: %s", self.name, error)
        self._give_up(CoordinatorNotAvailable(f"{self.name}: {error}"), ShardState.FAILED)
        self._reload_timer = self._clock.call_later(RELOAD_DELAY_MS, self._reload)

    def _reload(self) -> None:
        self._reload_timer = None
        if self.state is ShardState.FAILED:
            self._start_loading()

    def _give_up(self, error: Exception, state: ShardState) -> None:
        self.state = state
        if self._load is not None:
            self._load.cancel()
            self._load = None
        if self._reload_timer is not None:
            self._reload_timer.cancel()
            self._reload_timer = None
        turns = [*self._in_flight, self._turn]
        self._in_flight.clear()
        self._uncommitted_records = 0
        self._begin_turn()
        for turn in turns:
            turn.is_abandoned = True
            for result in turn.results:
                result.finish(error)
        self._shard.clear(error)

    # --- decisions

    def check_active(self) -> None:
        if self.state is ShardState.ACTIVE:
            return
        if self.state is ShardState.LOADING:
            raise CoordinatorLoadInProgress(f"{self.name} is being loaded")
        if self.state is ShardState.FAILED:
            raise CoordinatorNotAvailable(f"the storage of {self.name} failed")
        raise NotCoordinator(f"{self.name} is led elsewhere")

    def run(self, scope: str, decide: Callable[[], Result[R]], *, blind: bool = False) -> None:
        """Takes a decision now; what it raises is raised here, and nothing has happened then."""
        if self.state is not ShardState.ACTIVE:
            self.check_active()
        if scope in (self._sighted_scopes if blind else self._scopes):
            self.flush()
            self.check_active()
        result = decide()
        if result.records:
            self._stage(scope, result, blind)
        elif not self._turn.results and not self._in_flight:
            if result.applied is not None:
                result.applied()
            result.finish(None)
        else:
            self._turn.results.append(result)
            self._schedule_flush()

    def append_alone(self, batch: Buffer, result: Result[R]) -> None:
        """Appends a batch of another form than a turn's, now, behind all that was decided before.

        `result` names no records: what the batch changes, `applied` replays.
        """
        self.flush()
        self.check_active()
        if self._uncommitted_records >= MAX_UNCOMMITTED_RECORDS:
            result.finish(CoordinatorNotAvailable(f"{self.name}: too many records wait for the storage"))
            return
        turn = self._turn
        turn.batch = batch
        turn.record_count = parse_header(batch).record_count
        turn.results.append(result)
        self._uncommitted_records += turn.record_count
        self.flush()

    def _stage(self, scope: str, result: Result[R], blind: bool) -> None:
        if self._uncommitted_records >= MAX_UNCOMMITTED_RECORDS:
            result.finish(CoordinatorNotAvailable(f"{self.name}: too many records wait for the storage"))
            return
        encode = self._shard.encode
        now_ms = self._clock.now_ms()
        encoded = []
        size_bytes = 0
        for record in result.records:
            key, value = encode(record)
            size_bytes += len(key) + 24 + (len(value) if value is not None else 0)
            encoded.append(NewRecord(key=key, value=value, timestamp_ms=now_ms))
        if self._turn.encoded and self._turn.size_bytes + size_bytes > MAX_BATCH_BYTES:
            self.flush()
            self.check_active()
        turn = self._turn
        turn.results.append(result)
        turn.encoded += encoded
        turn.record_count += len(encoded)
        turn.size_bytes += size_bytes
        self._uncommitted_records += len(encoded)
        self._scopes.add(scope)
        if not blind:
            self._sighted_scopes.add(scope)
        self._schedule_flush()

    def _schedule_flush(self) -> None:
        if self._flush_handle is None:
            self._flush_handle = asyncio.get_running_loop().call_soon(self.flush)

    def _begin_turn(self) -> _Turn[R]:
        turn = self._turn
        self._turn = _Turn()
        self._scopes.clear()
        self._sighted_scopes.clear()
        if self._flush_handle is not None:
            self._flush_handle.cancel()
            self._flush_handle = None
        return turn

    def flush(self) -> None:
        """Appends what this turn has decided so far. Not to be called from `Result.applied`."""
        if not self._turn.results:
            return
        turn = self._begin_turn()
        self._in_flight.append(turn)
        self._is_flushing = True
        try:
            if turn.record_count and not self._append(turn):
                return
            if not turn.is_abandoned:
                self._apply(turn)
        finally:
            self._is_flushing = False
        self._drain()

    def _append(self, turn: _Turn[R]) -> bool:
        assert self._log is not None
        try:
            batch = build_batch(turn.encoded) if turn.batch is None else turn.batch
            self._log.append(batch, lambda error: self._on_committed(turn, error))
        except Exception as error:
            if not isinstance(error, MainstemError):
                _log.exception("%s: append failed", self.name)
            self.failed_appends += 1
            if turn.is_abandoned:  # the partition went away with the storage: all have been told
                return False
            self._in_flight.remove(turn)
            self._uncommitted_records -= turn.record_count
            _log.warning("%s: append refused: %s", self.name, error)
            told = coordinator_error(error)
            for result in turn.results:
                result.finish(told)
            return False
        turn.encoded = []
        turn.batch = None
        self.appends += 1
        self.appended_records += turn.record_count
        return True

    def _apply(self, turn: _Turn[R]) -> None:
        replay = self._shard.replay
        try:
            for result in turn.results:
                for record in result.records:
                    replay(record)
                if result.applied is not None:
                    result.applied()
        except Exception as error:  # a defect: memory is no longer what the log says
            _log.exception("%s: replay failed", self.name)
            self._fail(error)
            return
        if not turn.record_count:
            turn.is_committed = True

    def _on_committed(self, turn: _Turn[R], error: Exception | None) -> None:
        if turn.is_abandoned:
            return
        if error is not None:
            self._fail(error)
            return
        turn.is_committed = True
        if not self._is_flushing:
            self._drain()

    def _drain(self) -> None:
        in_flight = self._in_flight
        while in_flight and in_flight[0].is_committed:
            turn = in_flight.popleft()
            self._uncommitted_records -= turn.record_count
            for result in turn.results:
                result.finish(None)
