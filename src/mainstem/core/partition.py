"""A partition that this node leads: what is written, what is committed, and who waits for it.

Four offsets, each at most the next, describe a partition at any moment:

    log start  <=  last stable offset  <=  high watermark  <=  log end

- *log end*: the next offset to be given out; everything below is in the log.
- *high watermark*: everything below is committed. Consumers read below it, and a producer that asked
  for an acknowledgement is answered once it has passed the last record. Never goes back.
- *last stable offset*: below it every transaction has ended, and its marker is committed. Readers of
  committed data stop here; without transactions it is the high watermark.
- *log start*: everything below was deleted, by retention or on request.

With one replica a run is committed when its own storage took it: at once where `acks.after` is
`page-cache`, after the flush of its commit round where it is `disk`. Replicas will add one more
condition to `_commit`, and nothing to its callers.

Produced batches are not written as they come. They are staged; at the end of the loop's turn
`write_staged` writes everything that all connections brought in one call to the log. What waits for
the high watermark stands in one queue per partition, ordered by offset.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from mainstem.config.topic import TopicConfig
from mainstem.config.value import LONG_MAX
from mainstem.core.errors import (
    FencedLeaderEpoch,
    PolicyViolation,
    RecordsDamaged,
    StorageFailed,
    UnknownLeaderEpoch,
)
from mainstem.core.transactions.unverified_writes import UnverifiedWrites
from mainstem.log.durability import Durability
from mainstem.log.errors import LogCorrupt, OffsetOutOfRange
from mainstem.log.log_slice import LogSlice
from mainstem.log.partition_log import PartitionLog
from mainstem.log.producer_state import NOTHING_UNSTABLE, ProducerEntry
from mainstem.log.staged import AppendOutcome, AppendRun, StagedBatch
from mainstem.log.transaction_index import AbortedTransaction
from mainstem.model.batch import NO_LEADER_EPOCH, BatchHeader, Buffer, parse_header
from mainstem.model.errors import DiskError, MainstemError
from mainstem.model.ids import TopicId, TopicPartition

READ_UNCOMMITTED = 0
READ_COMMITTED = 1
_MANY_BYTES = 1 << 62


class ProduceResult(NamedTuple):
    base_offset: int  # -1 with an error
    append_time_ms: int  # -1 unless the topic stamps its own time
    log_start_offset: int
    error: Exception | None = None


class FetchResult(NamedTuple):
    error: Exception | None
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    records: LogSlice | None
    aborted: Sequence[AbortedTransaction] = ()  # with records among these; only for read_committed


class ProduceSlot(Protocol):
    """Where the answer for one partition of one produce request goes."""

    def complete(self, index: int, result: ProduceResult) -> None: ...


class ReadWaiter(Protocol):
    """A fetch that waits until more is committed."""

    def on_committed(self, added_bytes: int, added_stable_bytes: int) -> None:
        """So much came below the high watermark, and below the last stable offset."""
        ...

    def on_gone(self) -> None:
        """The partition moved away or failed: waiting is over."""
        ...


class _Staged(NamedTuple):
    batches: list[StagedBatch]
    slot: ProduceSlot
    place: int  # in the slot


class _AwaitingCommit(NamedTuple):
    offset: int  # answered when the high watermark reaches this
    finish: Callable[[Exception | None], None]


class Partition:
    def __init__(
        self,
        topic_partition: TopicPartition,
        log: PartitionLog,
        leader_epoch: int,
        durability: Durability,
        *,
        on_failed: Callable[[Partition, Exception], None],
    ) -> None:
        self.topic_partition = topic_partition
        self.log = log
        self.leader_epoch = leader_epoch
        self.high_watermark: int = log.log_end_offset
        self.isr_size: int = 1
        self.is_open: bool = True  # False once this node no longer serves it
        self.messages_in: int = 0
        self.bytes_in: int = 0
        self.bytes_out: int = 0
        self._durability = durability
        self._on_failed = on_failed
        self._staged: list[_Staged] = []
        self._awaiting: deque[_AwaitingCommit] = deque()
        self._readers: set[ReadWaiter] = set()
        self.unverified: dict[int, UnverifiedWrites] = {}  # by producer id
        log.producers.settle(self.high_watermark)

    # ------------------------------------------------------------------ offsets

    @property
    def topic_id(self) -> TopicId:
        return self.log.topic_id

    @property
    def log_start_offset(self) -> int:
        return self.log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        return self.log.log_end_offset

    @property
    def last_stable_offset(self) -> int:
        """Where read_committed readers stop."""
        unstable = self.log.producers.first_unstable_offset
        if unstable >= self.high_watermark:
            return self.high_watermark
        return max(unstable, self.log.log_start_offset)

    @property
    def producers(self) -> Mapping[int, ProducerEntry]:
        """Those that it remembers, by their id."""
        return self.log.producers.entries

    @property
    def open_transaction_count(self) -> int:
        return len(self.log.producers.open_transactions)

    @property
    def oldest_transaction_ms(self) -> int | None:
        """When the producer of the oldest open transaction wrote last; None when none is open."""
        producers = self.log.producers
        for producer_id in producers.open_transactions:
            return producers.entries[producer_id].last_timestamp_ms
        return None

    @property
    def config(self) -> TopicConfig:
        return self.log.config

    def check_leader_epoch(self, epoch: int) -> None:
        """Raises unless the client's idea of the leader's epoch is ours; -1 is no idea."""
        if epoch == NO_LEADER_EPOCH or epoch == self.leader_epoch:
            return
        if epoch < self.leader_epoch:
            raise FencedLeaderEpoch(f"epoch {epoch} of {self.topic_partition} ended, now {self.leader_epoch}")
        raise UnknownLeaderEpoch(f"epoch {epoch} of {self.topic_partition} is not known here yet")

    # ------------------------------------------------------------------ writing

    def stage(self, batches: list[StagedBatch], slot: ProduceSlot, index: int) -> bool:
        """Takes checked batches for the end of this turn; True when they are the turn's first."""
        self._staged.append(_Staged(batches, slot, index))
        return len(self._staged) == 1

    def write_staged(self) -> None:
        """Writes what this turn brought, and answers or queues each producer."""
        staged = self._staged
        if not staged:
            return
        self._staged = []
        try:
            run = self.log.append([b for item in staged for b in item.batches], self.leader_epoch)
        except MainstemError as error:
            self._refuse(staged, self._storage_error(error))
            return
        except Exception as error:  # nobody thought of it: its producers are told, and others go on
            self._refuse(staged, error)
            return
        log_start = self.log.log_start_offset
        outcomes = iter(run.outcomes)
        finishes: list[Callable[[Exception | None], None]] = []
        waits_for_disk = self._waits_for_disk()
        for item in staged:
            result = _result_of(outcomes, len(item.batches), log_start)
            if not waits_for_disk or result.error is not None:
                item.slot.complete(item.place, result)
            else:
                finishes.append(_finish_slot(item, result))
        if finishes:
            end = self.log.log_end_offset
            self._awaiting.extend([_AwaitingCommit(end, finish) for finish in finishes])
        self._commit(run, waits_for_disk)
        broken = next((o.error for o in run.outcomes if isinstance(o.error, DiskError)), None)
        if broken is not None:  # the first part of the run went into a segment, the rest did not
            self._storage_error(broken)

    def append_now(self, batch: Buffer, on_committed: Callable[[Exception | None], None]) -> int:
        """Writes one batch of the broker's own at once, after what is staged; returns its last offset.

        `on_committed` may run before this returns where nothing has to be waited for.
        """
        self.write_staged()
        try:
            run = self.log.append([StagedBatch(batch, parse_header(batch))], self.leader_epoch)
        except MainstemError as error:
            raise self._storage_error(error) from error
        for outcome in run.outcomes:
            if outcome.error is not None:
                raise outcome.error
        self._awaiting.append(_AwaitingCommit(run.next_offset, on_committed))
        self._commit(run, self._waits_for_disk())
        return run.next_offset - 1

    def when_committed(self, on_committed: Callable[[Exception | None], None]) -> None:
        """Calls once all that is in the log now is committed; perhaps before this returns."""
        self._awaiting.append(_AwaitingCommit(self.log.log_end_offset, on_committed))
        self._answer_up_to_high_watermark()

    def _waits_for_disk(self) -> bool:
        """Whether what was just appended counts only once it is on stable storage.

        `flush.messages` makes the append that reaches it wait, as in Kafka: with 1, every append does.
        """
        config = self.log.config
        return config.acks_after == "disk" or (
            config.flush_messages != LONG_MAX
            and self.log.log_end_offset - self.log.recovery_point >= config.flush_messages
        )

    def _commit(self, run: AppendRun, waits_for_disk: bool) -> None:
        """Makes `run` committed, now or when its storage says so."""
        if run.next_offset == run.first_offset:  # nothing but duplicates and refusals
            self._answer_up_to_high_watermark()
            return
        self.messages_in += run.next_offset - run.first_offset
        self.bytes_in += run.size_bytes
        if not waits_for_disk:
            self._advance(run.next_offset, run.size_bytes)
            return
        next_offset, size_bytes = run.next_offset, run.size_bytes

        def on_durable(error: Exception | None) -> None:
            if error is not None:
                self.fail(error)
            else:
                self._advance(next_offset, size_bytes)

        try:
            self._durability.commit(self.log, run, on_durable)
        except DiskError as error:
            self.fail(error)

    def _advance(self, offset: int, added_bytes: int) -> None:
        if offset <= self.high_watermark:
            return
        stable_bytes = added_bytes
        producers = self.log.producers
        if producers.first_unstable_offset == NOTHING_UNSTABLE:
            self.high_watermark = offset
        else:
            stable_before = self.last_stable_offset
            self.high_watermark = offset
            if producers.has_ended:
                producers.settle(offset)
            # What lay unstable until now may be much: readers look again how much it is.
            stable_bytes = _MANY_BYTES if self.last_stable_offset > stable_before else 0
        if self._awaiting:
            self._answer_up_to_high_watermark()
        if self._readers:
            for reader in tuple(self._readers):
                reader.on_committed(added_bytes, stable_bytes)

    def _answer_up_to_high_watermark(self) -> None:
        awaiting = self._awaiting
        while awaiting and awaiting[0].offset <= self.high_watermark:
            awaiting.popleft().finish(None)

    def _refuse(self, staged: Sequence[_Staged], error: Exception) -> None:
        result = ProduceResult(-1, -1, self.log.log_start_offset, error)
        for item in staged:
            item.slot.complete(item.place, result)

    def _storage_error(self, error: Exception) -> Exception:
        """What a client is told of a disk's error; takes the partition offline unless that may pass.

        Damaged batches are lost to who asks for them, and nobody else: others can still be read and written.
        """
        if not isinstance(error, DiskError):
            return error
        if isinstance(error, LogCorrupt):
            return RecordsDamaged(str(error))
        if not error.is_passing:
            self.fail(error)
        return StorageFailed(str(error))

    def fail(self, error: Exception) -> None:
        """The storage of this partition is gone: everybody who waits is told, nobody is answered ok."""
        if self.is_open:
            self.close(StorageFailed(str(error)))
            self._on_failed(self, error)

    def close(self, reason: MainstemError) -> None:
        """Stops serving: what waits is answered with `reason`. The log is not touched."""
        self.is_open = False
        staged, self._staged = self._staged, []
        self._refuse(staged, reason)
        awaiting, self._awaiting = self._awaiting, deque()
        for waiting in awaiting:
            waiting.finish(reason)
        unverified, self.unverified = self.unverified, {}
        for writes in unverified.values():
            writes.finish(reason)
        readers, self._readers = self._readers, set()
        for reader in readers:
            reader.on_gone()

    # ------------------------------------------------------------------ reading

    def read(self, offset: int, max_bytes: int, *, isolation: int, at_least_one: bool) -> FetchResult:
        """What a consumer gets at `offset`. Raises OffsetOutOfRange."""
        log = self.log
        high_watermark = self.high_watermark
        last_stable = self.last_stable_offset
        limit = last_stable if isolation == READ_COMMITTED else high_watermark
        start = log.log_start_offset
        if offset >= limit or offset < start:
            if offset < start or offset > log.log_end_offset:
                raise OffsetOutOfRange(offset, start, log.log_end_offset)
            return FetchResult(None, high_watermark, last_stable, start, None)
        if max_bytes <= 0 and not at_least_one:
            return FetchResult(None, high_watermark, last_stable, start, None)
        aborted: Sequence[AbortedTransaction] = ()
        try:
            records = log.locate(offset, max_bytes, limit, at_least_one=at_least_one)
            if isolation == READ_COMMITTED and records is not None:
                aborted = log.aborted_in(offset, records, limit)
        except DiskError as error:
            raise self._storage_error(error) from error
        if records is not None:
            self.bytes_out += records.length
        return FetchResult(None, high_watermark, last_stable, start, records, aborted)

    def delete_records(self, before_offset: int) -> int:
        """Moves the log start up to the offset; where it is now."""
        log = self.log
        if log.config.cleanup_policy == {"compact"}:
            raise PolicyViolation(
                f"{self.topic_partition} is compacted: its records are not deleted by offset"
            )
        if not 0 <= before_offset <= self.high_watermark:
            raise OffsetOutOfRange(before_offset, log.log_start_offset, self.high_watermark)
        log.delete_records(before_offset)
        return log.log_start_offset

    def add_reader(self, reader: ReadWaiter) -> None:
        self._readers.add(reader)

    def remove_reader(self, reader: ReadWaiter) -> None:
        self._readers.discard(reader)

    def read_batches(
        self, from_offset: int, max_bytes: int = 1 << 20
    ) -> Iterator[tuple[BatchHeader, memoryview]]:
        """The committed batches from an offset on, for a coordinator that loads. Blocks: run in a thread."""
        return self.log.read_batches(from_offset, self.high_watermark, max_bytes)

    def epoch_of(self, offset: int) -> int:
        """The epoch of the leader that wrote this offset, -1 when it is not known."""
        return self.log.epochs.epoch_of(offset)

    def epoch_end_offset(self, epoch: int) -> tuple[int, int]:
        """The largest epoch at or below `epoch` and where it ended; (-1, -1) when none is known."""
        if epoch == self.leader_epoch:
            return epoch, self.log.log_end_offset
        return self.log.epochs.end_offset_of(epoch, self.log.log_end_offset)


def _result_of(outcomes: Iterator[AppendOutcome], count: int, log_start: int) -> ProduceResult:
    """The answer for one request's batches: the first offset, or the first error."""
    first = next(outcomes)
    error = first.error
    for _ in range(count - 1):
        following = next(outcomes)
        error = error or following.error
    if isinstance(error, DiskError):
        error = StorageFailed(str(error))
    if error is not None:
        return ProduceResult(-1, -1, log_start, error)
    return ProduceResult(first.base_offset, first.append_time_ms, log_start)


def _finish_slot(item: _Staged, result: ProduceResult) -> Callable[[Exception | None], None]:
    def finish(error: Exception | None) -> None:
        if error is not None:
            item.slot.complete(item.place, ProduceResult(-1, -1, result.log_start_offset, error))
        else:
            item.slot.complete(item.place, result)

    return finish
