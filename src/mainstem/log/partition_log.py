"""The log of one partition: segments on disk, and what a start of the process has to know about them.

    log start  <=  first offset that can be read
    recovery point     everything below is on stable storage; recovery looks at what lies above
    log end            the next offset to be given out

Segments rise by base offset without overlap; only the last, the *active* one, is appended to. A segment
rolls when the next batch does not fit its size, its age, its index or its 31 bits of relative offset.

One owner, the loop, changes the log. Worker threads may flush it, look timestamps up and read batches at
the same time: they work on the tuple of segments that they found, and a file that was dropped meanwhile
is told apart from a damaged one by looking whether the tuple is still the same.

An append either happened or did not. When the disk refuses a write, what it took of it is cut off again
and the producers' state is put back; where a first part already went into a segment that rolled, that
part stays and the batches behind it are refused one by one.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from mainstem.config.topic_options import TopicConfig
from mainstem.log import timestamp_lookup
from mainstem.log.aborted_lookup import find_aborted
from mainstem.log.append_piece import AppendPiece
from mainstem.log.clean_state import CleanState
from mainstem.log.compaction.segment_swap import SwapPlan, put_in_place
from mainstem.log.compaction.segment_writer import CleanedSegment
from mainstem.log.errors import (
    LogClosed,
    LogCorrupt,
    LogDirectoryFailed,
    LogReadFailed,
    LogWriteFailed,
    OffsetOutOfRange,
    is_passing,
)
from mainstem.log.leader_epochs import LeaderEpochs
from mainstem.log.log_slice import LogSlice
from mainstem.log.offset_lookup import batches_between, find_slice
from mainstem.log.producer_snapshot import remove_other_snapshots, write_snapshot
from mainstem.log.producer_state import EndedTransaction, ProducerStates
from mainstem.log.retention import PendingDeletions, count_due_segments, rename_dropped
from mainstem.log.rolling import jittered_segment_ms, roll_limits
from mainstem.log.segment import Segment
from mainstem.log.staged import AppendOutcome, AppendRun, StagedBatch
from mainstem.log.storage import LogStorage
from mainstem.log.timestamp_lookup import TimestampOffset
from mainstem.log.transaction_index import AbortedTransaction
from mainstem.model.batch import BatchHeader, Buffer, parse_header
from mainstem.model.errors import DiskError
from mainstem.model.ids import TopicId, TopicPartition

# So much of the active segment may be unflushed before housekeeping flushes it: it bounds what a start
# after a crash has to read.
MAX_UNFLUSHED_BYTES: Final = 128 * 1024 * 1024
_NEVER: Final = 2**63 - 1

T = TypeVar("T")


class PartitionLog:
    """Made by `log/loading.py`."""

    def __init__(
        self,
        storage: LogStorage,
        directory: str,
        topic_partition: TopicPartition,
        topic_id: TopicId,
        config: TopicConfig,
        *,
        segments: Sequence[Segment],
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        epochs: LeaderEpochs,
        producers: ProducerStates,
        has_new_names: bool = False,
    ) -> None:
        self.directory = directory
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.config = config
        self.segments: tuple[Segment, ...] = tuple(segments)  # rising, never empty; replaced, not changed
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.recovery_point = recovery_point
        self.epochs = epochs
        self.producers = producers
        self.first_dirty_offset = 0  # compaction took note of everything below: cleaner-offset-checkpoint
        self.is_closed = False
        self._is_swapping = False  # compaction is about to replace segments: none may go
        self._storage = storage
        self._base_offsets = [segment.base_offset for segment in self.segments]
        # Two counters that only grow, the first changed by the loop and the second by who flushes.
        self._appended_bytes = self._bytes_above(recovery_point) if log_end_offset > recovery_point else 0
        self._flushed_bytes = 0
        self._has_new_names = has_new_names  # a flush has to make them durable
        self._flushed_ms = storage.clock.now_ms()
        self._flushing = threading.Lock()
        self._flush_failure: OSError | None = None
        self._pending_deletions = PendingDeletions()
        self._aborting: list[Segment] | None = None  # those with aborted transactions; None: to be found
        self._roll_after_ms = self._jittered_segment_ms()

    def __repr__(self) -> str:
        return f"PartitionLog({self.topic_partition}, {self.log_start_offset}..{self.log_end_offset})"

    # --- what it holds

    @property
    def storage(self) -> LogStorage:
        return self._storage

    @property
    def active(self) -> Segment:
        return self.segments[-1]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self.segments)

    @property
    def has_deleted_segments(self) -> bool:
        return len(self._pending_deletions) > 0

    def _bytes_above(self, offset: int) -> int:
        """Of the segments that may hold something at or above the offset."""
        first = max(0, bisect_right(self._base_offsets, offset) - 1)
        return sum(segment.size_bytes for segment in self.segments[first:])

    def clean_state(self) -> CleanState:
        """What the next start needs after `close`."""
        return CleanState(
            self.log_end_offset,
            tuple(segment.state() for segment in self.segments),
            tuple((entry.epoch, entry.start_offset) for entry in self.epochs.entries),
            bool(self.producers.entries),
        )

    def update_config(self, config: TopicConfig) -> None:
        self.config = config
        self._roll_after_ms = self._jittered_segment_ms()

    def _jittered_segment_ms(self) -> int:
        return jittered_segment_ms(self.config, self.topic_partition, self.active.base_offset)

    # --- appending, on the loop

    def append(self, batches: Sequence[StagedBatch], leader_epoch: int) -> AppendRun:
        """Gives the batches their offsets and writes them, in one call to the file where one segment does."""
        if self.is_closed:
            raise LogClosed(f"the log of {self.topic_partition} is closed")
        first_offset = self.log_end_offset
        self.epochs.assign(leader_epoch, first_offset)
        piece = self._planned(batches, 0, leader_epoch)
        size_bytes = self._write(piece)
        if piece.next_batch == len(batches):
            return AppendRun(first_offset, self.log_end_offset, size_bytes, piece.buffers, piece.outcomes)
        return self._append_rest(batches, leader_epoch, first_offset, size_bytes, piece)

    def _append_rest(
        self,
        batches: Sequence[StagedBatch],
        leader_epoch: int,
        first_offset: int,
        size_bytes: int,
        piece: AppendPiece,
    ) -> AppendRun:
        """Goes on in new segments."""
        buffers, outcomes = piece.buffers, piece.outcomes
        while piece.next_batch < len(batches):
            try:
                self.roll()
                following = self._planned(batches, piece.next_batch, leader_epoch)
                size_bytes += self._write(following)
            except DiskError as error:
                if self.log_end_offset == first_offset:
                    raise
                refused = AppendOutcome(-1, -1, error)
                outcomes += [refused] * (len(batches) - piece.next_batch)
                break
            buffers += following.buffers
            outcomes += following.outcomes
            piece = following
        return AppendRun(first_offset, self.log_end_offset, size_bytes, buffers, outcomes)

    def _planned(self, batches: Sequence[StagedBatch], next_batch: int, leader_epoch: int) -> AppendPiece:
        """What the active segment takes of the batches from `next_batch` on."""
        try:  # a segment that was just opened reads what it has to know of itself
            piece = AppendPiece(self.active, next_batch, self.log_end_offset)
            limits = roll_limits(self.active, self.config, self._roll_after_ms)
        except OSError as error:
            raise self._read_failed(error) from error
        piece.plan(batches, self.active, limits, self.producers, leader_epoch)
        return piece

    def _write(self, piece: AppendPiece) -> int:
        """Writes what was planned for the active segment; its bytes. Raises with everything as before."""
        if not piece.buffers:
            return 0
        segment = self.active
        try:
            if piece.ended:
                self._note_aborted(segment, piece.ended)
            size_bytes = segment.log_file().write(piece.buffers, segment.size_bytes)
        except OSError as error:
            piece.roll_back(self.producers)
            self._cut_torn_write(segment, error)
            raise LogWriteFailed(
                f"cannot write to {segment.log_path}: {error.strerror or error}",
                is_passing=is_passing(error),
            ) from error
        piece.apply(segment)
        if piece.ended:
            self.producers.note_ended(piece.ended)
        self.log_end_offset = piece.next_offset
        self._appended_bytes += size_bytes
        return size_bytes

    def _cut_torn_write(self, segment: Segment, cause: OSError) -> None:
        try:
            segment.log_file().truncate(segment.size_bytes)
            if segment.aborted_count:
                segment.forget_aborted(self.log_end_offset)
        except OSError as error:
            raise LogDirectoryFailed(
                f"{segment.log_path} cannot be written ({cause}) nor cut back ({error})"
            ) from cause

    def _note_aborted(self, segment: Segment, ended: Sequence[EndedTransaction]) -> None:
        """Indexes those that were aborted, before their markers are written."""
        aborted = [AbortedTransaction(*each[:4]) for each in ended if each.is_aborted]
        if aborted:
            self._has_new_names |= segment.aborted_count == 0
            segment.note_aborted(aborted)
            self._aborting = None

    def append_recovered(self, batches: Buffer) -> None:
        """Appends whole batches with offsets and epochs of their own, the first at the log's end."""
        view = memoryview(batches)
        position = 0
        while position < len(view):
            header = parse_header(view, position)
            batch = view[position : position + header.size_bytes]
            if self.active.size_bytes and (
                self.active.size_bytes + len(batch) > self.config.segment_bytes
                or not self.active.fits(header.last_offset)
            ):
                self.roll()
            self._append_as_it_is(batch, header)
            position += len(batch)

    def _append_as_it_is(self, batch: memoryview, header: BatchHeader) -> None:
        segment = self.active
        position = segment.size_bytes
        ended = self.producers.replay(header, batch)
        if ended is not None:
            self._note_aborted(segment, (ended,))
            self.producers.note_ended((ended,))
        segment.log_file().write((batch,), position)
        self.epochs.assign(header.leader_epoch, header.base_offset)
        segment.note_recovered(header, len(batch), self.config.index_interval_bytes)
        self.log_end_offset = header.next_offset
        self._appended_bytes += len(batch)

    # --- segments, on the loop

    def roll(self) -> None:
        """Begins a new segment at the log's end."""
        before = self.active
        disk, now_ms = self._storage.disk, self._storage.clock.now_ms()
        reserved_bytes = self.config.segment_bytes if self.config.preallocate else 0
        try:
            segment = Segment.create(
                self._storage.files,
                self.directory,
                self.log_end_offset,
                now_ms,
                reserved_bytes=reserved_bytes,
            )
            write_snapshot(disk, self.directory, self.log_end_offset, self.producers.entries)
            if self.config.preallocate:
                before.trim()
        except OSError as error:
            raise LogWriteFailed(
                f"cannot begin a new segment in {self.directory}: {error.strerror or error}",
                is_passing=is_passing(error),
            ) from error
        before.retire()
        self._has_new_names = True
        self._replace_segments((*self.segments, segment))
        self._roll_after_ms = self._jittered_segment_ms()

    def _replace_segments(self, segments: tuple[Segment, ...]) -> None:
        self._base_offsets = [segment.base_offset for segment in segments]
        self.segments = segments
        self._aborting = None

    def roll_if_due(self, now_ms: int) -> bool:
        """Rolls an active segment that this process has filled for longer than `segment.ms`.

        Appends roll by the records' own time; this is for a partition that nobody writes to any more.
        """
        segment = self.active
        if not segment.size_bytes or now_ms - segment.created_ms <= self._roll_after_ms:
            return False
        self.roll()
        return True

    def delete_due_segments(self, now_ms: int, *, limit_offset: int) -> int:
        """Drops the oldest segments that retention does not keep; how many.

        None goes before the name of the one that will be first is durable: a log that a power loss left
        without its first segment would look as if it had lost its end.
        """
        if self._has_new_names or self._is_swapping:
            return 0
        count = count_due_segments(
            self.segments,
            self.config,
            now_ms=now_ms,
            limit_offset=limit_offset,
            log_start_offset=self.log_start_offset,
            log_end_offset=self.log_end_offset,
        )
        if count == len(self.segments):
            self.roll()
            return 0  # all of them go once the new one's name is durable
        if count:
            self._drop_oldest(count, now_ms)
        return count

    def _drop_oldest(self, count: int, now_ms: int) -> None:
        dropped, kept = self.segments[:count], self.segments[count:]
        self.log_start_offset = max(self.log_start_offset, kept[0].base_offset)
        self._replace_segments(kept)
        self.epochs.truncate_from_start(self.log_start_offset)
        try:
            paths = rename_dropped(self._storage.disk, self.directory, dropped)
        except OSError as error:
            raise LogDirectoryFailed(f"cannot drop segments of {self.directory}: {error}") from error
        self._pending_deletions.add(now_ms + self.config.file_delete_delay_ms, paths)

    # --- compaction: see compaction/segment_swap.py

    def begin_swap(self, replaced: Sequence[Segment]) -> bool:
        """From now on these segments stay, until `end_swap`. False when some are gone already."""
        if self.is_closed or self._is_swapping or self._number_of(replaced) is None:
            return False
        self._is_swapping = True
        return True

    def _number_of(self, run: Sequence[Segment]) -> int | None:
        """Where in the log these segments stand, one after the other; never the active one."""
        number = bisect_right(self._base_offsets, run[0].base_offset) - 1
        found = self.segments[number : number + len(run)] if number >= 0 else ()
        is_there = len(found) == len(run) and all(a is b for a, b in zip(found, run, strict=True))
        return number if is_there and found[-1] is not self.active else None

    def swap(self, plan: SwapPlan, cleaned: CleanedSegment, replaced: Sequence[Segment]) -> None:
        """Puts the cleaned segment in the place of these, which hold on to their own files."""
        number = self._number_of(replaced)
        assert self._is_swapping
        assert number is not None
        created_ms = max(segment.created_ms for segment in replaced)
        segment = Segment.from_state(self._storage.files, self.directory, cleaned.state(), created_ms)
        try:
            deleted = put_in_place(self._storage.disk, self.directory, plan)
        except OSError as error:
            raise LogDirectoryFailed(f"cannot put {segment.log_path} in place: {error}") from error
        for old in replaced:
            old.close_files()
        segments = self.segments
        self._replace_segments((*segments[:number], segment, *segments[number + len(replaced) :]))
        self._delete_later(deleted)

    def end_swap(self, deleted: Sequence[str]) -> None:
        """The swap is on stable storage; these files were renamed for it."""
        self._is_swapping = False
        self._delete_later(list(deleted))

    def _delete_later(self, paths: list[str]) -> None:
        self._pending_deletions.add(self._storage.clock.now_ms() + self.config.file_delete_delay_ms, paths)

    def purge_deleted(self, now_ms: int) -> int:
        """Removes the files that were dropped long enough ago; how many. Blocks."""
        try:
            return self._pending_deletions.purge(self._storage.disk, now_ms)
        except OSError as error:
            raise LogWriteFailed(
                f"cannot remove dropped segments of {self.directory}: {error}", is_passing=is_passing(error)
            ) from error

    def delete_records(self, offset: int) -> None:
        """Moves the log start up to the offset; whole segments below it go at the next retention check."""
        if offset < 0 or offset > self.log_end_offset:
            raise OffsetOutOfRange(offset, self.log_start_offset, self.log_end_offset)
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self.epochs.truncate_from_start(offset)

    # --- reading

    def locate(
        self, offset: int, max_bytes: int, limit_offset: int, *, at_least_one: bool
    ) -> LogSlice | None:
        """The bytes from the batch that holds `offset`, up to `max_bytes` and before `limit_offset`.

        The last batch may be cut short by `max_bytes`; the first one never is: if it is larger, it comes
        whole where `at_least_one` asks for it, and otherwise nothing does.
        """
        try:
            number = bisect_right(self._base_offsets, offset) - 1
            return find_slice(
                self.segments, number, offset, max_bytes, limit_offset, self.log_end_offset, at_least_one
            )
        except OSError as error:
            raise self._read_failed(error) from error

    def _read_failed(self, error: OSError) -> LogReadFailed:
        message = f"cannot read the log of {self.topic_partition}: {error}"
        return LogReadFailed(message, is_passing=is_passing(error))

    def aborted_in(self, offset: int, found: LogSlice, limit_offset: int) -> list[AbortedTransaction]:
        """The aborted transactions with records in what `locate` found at `offset` before the limit."""
        try:
            if self._aborting is None:
                self._aborting = [segment for segment in self.segments if segment.aborted_count]
            if not self._aborting:
                return []
            return find_aborted(self.segments, self._aborting, offset, found, limit_offset)
        except OSError as error:
            raise self._read_failed(error) from error

    def read_batches(
        self, from_offset: int, limit_offset: int, chunk_bytes: int
    ) -> Iterator[tuple[BatchHeader, memoryview]]:
        """Each batch that holds something from `from_offset` to before `limit_offset`. Blocks."""
        yield from batches_between(self.segments, from_offset, limit_offset, chunk_bytes)

    def offset_for_timestamp(self, timestamp_ms: int) -> TimestampOffset | None:
        """The first record at or after the time. Blocks."""
        return self._read_steadily(
            lambda segments: timestamp_lookup.first_at_or_after(segments, timestamp_ms, self.log_start_offset)
        )

    def offset_of_max_timestamp(self) -> TimestampOffset | None:
        """The record with the greatest timestamp. Blocks."""
        return self._read_steadily(
            lambda segments: timestamp_lookup.of_max_timestamp(segments, self.log_start_offset)
        )

    def _read_steadily(self, read: Callable[[Sequence[Segment]], T]) -> T:
        """Reads again when a segment was dropped under the reader."""
        while True:
            segments = self.segments
            try:
                return read(segments)
            except (OSError, LogCorrupt) as error:
                if segments is not self.segments and not self.is_closed:
                    continue
                if isinstance(error, LogCorrupt):
                    raise
                raise self._read_failed(error) from error

    # --- durability, from any thread

    def needs_flush(self, now_ms: int) -> bool:
        config = self.config
        if self.recovery_point < self.active.base_offset or self._has_new_names:  # a closed segment
            return True
        unflushed = self.log_end_offset - self.recovery_point
        if not unflushed:
            return False
        return (
            unflushed >= config.flush_messages
            or now_ms - self._flushed_ms >= config.flush_ms
            or self._appended_bytes - self._flushed_bytes >= MAX_UNFLUSHED_BYTES
        )

    def flush(self) -> int:
        """Blocks until all that was appended before the call is on stable storage; its end offset.

        Raises `OSError` from the disk: after it nobody knows what is stored, and no later flush may claim
        to know. So the error stays, and every later call raises it.
        """
        with self._flushing:
            if self.is_closed:
                raise LogClosed(f"the log of {self.topic_partition} is closed")
            if self._flush_failure is not None:
                raise LogDirectoryFailed(f"{self.directory}: {self._flush_failure}")
            end_offset, appended_bytes = self.log_end_offset, self._appended_bytes
            try:
                self._make_durable()
            except OSError as error:
                self._flush_failure = error
                raise
            self._flushed_ms = self._storage.clock.now_ms()
            self._flushed_bytes = appended_bytes
            if self._save_epochs():
                self.recovery_point = max(self.recovery_point, end_offset)
            return end_offset

    def _make_durable(self) -> None:
        has_new_names, self._has_new_names = self._has_new_names, False
        self._sync_segments()
        if has_new_names:
            self._storage.disk.sync_directory(self.directory)

    def _save_epochs(self) -> bool:
        """False when there is no room for the checkpoint: recovery then reads the batches in its place."""
        if not self.epochs.is_dirty:
            return True
        try:
            self.epochs.save(self._storage.disk, self.directory, sync=True)
        except OSError as error:
            self.epochs.is_dirty = True
            if not is_passing(error):
                self._flush_failure = error
                raise
            return False
        return True

    def _sync_segments(self) -> None:
        segments = self.segments
        first = max(0, bisect_right([s.base_offset for s in segments], self.recovery_point) - 1)
        for segment in segments[first:]:
            try:
                # The active segment's indexes can wait: recovery makes anew what it does not trust.
                segment.sync(with_indexes=segment is not segments[-1])
            except FileNotFoundError:
                if segment in self.segments:
                    raise  # else retention dropped it under our hands

    def close(self) -> None:
        """Flushes, leaves the indexes and the producers as the next start wants them. Blocks."""
        if self.is_closed:
            return
        active, disk = self.active, self._storage.disk
        try:
            active.write_indexes()
            if self.config.preallocate:
                active.trim()
            if self.log_end_offset > self.recovery_point or self.epochs.is_dirty:
                self.flush()
            if self.epochs.is_dirty:
                raise OSError("no room for the leader epochs")
            if self.producers.entries:
                write_snapshot(disk, self.directory, self.log_end_offset, self.producers.entries)
            self._pending_deletions.purge(disk, _NEVER)
        except OSError as error:
            raise LogWriteFailed(
                f"the log of {self.topic_partition} did not close cleanly: {error}"
            ) from error
        finally:
            self.abandon()

    def abandon(self) -> None:
        """No further use of the files; nothing is written."""
        self.is_closed = True
        for segment in self.segments:
            segment.close_files()

    def remove_stray_snapshots(self) -> None:
        """Drops the snapshots that no segment begins with; one at the log's end stays. Blocks."""
        remove_other_snapshots(self._storage.disk, self.directory, {*self._base_offsets, self.log_end_offset})
