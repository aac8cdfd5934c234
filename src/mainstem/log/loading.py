"""How a partition log comes into being: made new, opened after a clean stop, recovered after any other.

- *new*: a directory, `partition.metadata`, one empty segment.
- *clean*: everything comes from the `CleanState` that the stop left; of the files only the size of the
  active segment is looked at. Ten thousand partitions open in a second or two.
- *recovery*: the directory says which segments there are. Those that end at or below the recovery point
  are trusted. From the one that holds it on, segments are checked (segment_recovery.py); one that does
  not reach the next one's base offset ends the log, and what stands behind it is put aside under a
  `.deleted` name, because offsets must not have a hole that nobody made. Producers are brought up from
  the newest whole snapshot, leader epochs from their checkpoint and the batches that were read.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from mainstem.config.topic_options import TopicConfig
from mainstem.log import partition_metadata
from mainstem.log.batch_reader import read_batches
from mainstem.log.clean_state import CleanState
from mainstem.log.compaction.segment_swap import recover_swaps
from mainstem.log.errors import LogCorrupt
from mainstem.log.leader_epochs import EpochStart, LeaderEpochs
from mainstem.log.names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LOG_SUFFIX,
    TEMPORARY_SUFFIX,
    file_name,
    offset_of,
)
from mainstem.log.partition_log import PartitionLog
from mainstem.log.producer_snapshot import load_newest_snapshot, snapshot_offsets, snapshot_path
from mainstem.log.producer_state import ProducerStates
from mainstem.log.segment import Segment
from mainstem.log.segment_recovery import has_sound_indexes, recover_segment
from mainstem.log.storage import LogStorage
from mainstem.log.transaction_index import AbortedTransaction
from mainstem.model.batch import BatchHeader
from mainstem.model.ids import TopicId, TopicPartition

_LEFTOVER_SUFFIXES: Final = (DELETED_SUFFIX, CLEANED_SUFFIX, TEMPORARY_SUFFIX)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LogPlace:
    """What is known of a log before its files are looked at."""

    directory: str
    topic_partition: TopicPartition
    topic_id: TopicId
    config: TopicConfig


def create_log(storage: LogStorage, place: LogPlace, *, sync: bool) -> PartitionLog:
    """Makes the directory and an empty log in it. The caller makes the directory's own name durable.

    `sync`: the topic's id and the name of the first segment are durable on return.
    """
    disk, now_ms = storage.disk, storage.clock.now_ms()
    disk.make_directory(place.directory)
    reserved_bytes = place.config.segment_bytes if place.config.preallocate else 0
    segment = Segment.create(storage.files, place.directory, 0, now_ms, reserved_bytes=reserved_bytes)
    partition_metadata.write(disk, place.directory, place.topic_id, sync=sync)
    return PartitionLog(
        storage,
        place.directory,
        place.topic_partition,
        place.topic_id,
        place.config,
        segments=[segment],
        log_start_offset=0,
        log_end_offset=0,
        recovery_point=0,
        epochs=LeaderEpochs(),
        producers=ProducerStates(),
        has_new_names=True,
    )


def open_clean_log(
    storage: LogStorage, place: LogPlace, state: CleanState, log_start_offset: int
) -> PartitionLog | None:
    """None when the files are not what the state says: then the log has to be recovered."""
    disk, now_ms = storage.disk, storage.clock.now_ms()
    segments = [Segment.from_state(storage.files, place.directory, entry, now_ms) for entry in state.segments]
    try:
        if disk.size(segments[-1].log_path) != segments[-1].size_bytes:
            return None
    except OSError:
        return None
    producers = ProducerStates()
    if state.has_producers:
        found = load_newest_snapshot(disk, place.directory, up_to_offset=state.log_end_offset)
        if found is None or found[0] != state.log_end_offset:
            return None
        producers.replace(found[1])
    return PartitionLog(
        storage,
        place.directory,
        place.topic_partition,
        place.topic_id,
        place.config,
        segments=segments,
        log_start_offset=log_start_offset,
        log_end_offset=state.log_end_offset,
        recovery_point=state.log_end_offset,
        epochs=LeaderEpochs([EpochStart(*entry) for entry in state.epochs]),
        producers=producers,
    )


def recover_log(
    storage: LogStorage, place: LogPlace, *, recovery_point: int, log_start_offset: int
) -> PartitionLog:
    """Mends what an unclean stop left. Raises `LogCorrupt` or `OSError` where that cannot be done."""
    return _Recovery(storage, place, recovery_point, log_start_offset).run()


class _Recovery:
    def __init__(
        self, storage: LogStorage, place: LogPlace, recovery_point: int, log_start_offset: int
    ) -> None:
        self._storage = storage
        self._disk = storage.disk
        self._place = place
        self._recovery_point = recovery_point
        self._log_start_offset = log_start_offset
        self._epochs = self._load_epochs()
        self._producers = ProducerStates()
        self._producers_end = 0  # producers are as of this offset
        self._aborted: list[AbortedTransaction] = []  # by markers of the segment that is read
        self._now_ms = storage.clock.now_ms()

    def run(self) -> PartitionLog:
        place = self._place
        recover_swaps(self._disk, place.directory)
        names = self._disk.list(place.directory)
        for name in names:
            if name.endswith(_LEFTOVER_SUFFIXES):
                self._disk.remove(f"{place.directory}/{name}")
        offsets = sorted(offset for name in names if (offset := offset_of(name, LOG_SUFFIX)) is not None)
        if offsets and self._recovery_point < offsets[0]:
            self._recovery_point = offsets[0]  # nothing below is there any more
        self._load_producers(offsets)
        segments, end_offset = self._load_segments(offsets)
        self._epochs.truncate_from_end(end_offset)
        log_start_offset = min(max(self._log_start_offset, segments[0].base_offset), end_offset)
        self._epochs.truncate_from_start(log_start_offset)
        log = PartitionLog(
            self._storage,
            place.directory,
            place.topic_partition,
            place.topic_id,
            place.config,
            segments=segments,
            log_start_offset=log_start_offset,
            log_end_offset=end_offset,
            recovery_point=min(self._recovery_point, end_offset),
            epochs=self._epochs,
            producers=self._producers,
            has_new_names=True,  # nobody knows which of them were made durable
        )
        log.remove_stray_snapshots()
        return log

    def _load_epochs(self) -> LeaderEpochs:
        try:
            return LeaderEpochs.load(self._disk, self._place.directory)
        except LogCorrupt as error:
            _logger.warning(
                "%s: the leader epochs are read from the log again: %s", self._place.directory, error
            )
            self._recovery_point = 0  # every batch is looked at
            return LeaderEpochs()

    # --- producers

    def _load_producers(self, offsets: list[int]) -> None:
        """From the newest snapshot that recovery may trust; the batches behind it follow."""
        directory = self._place.directory
        for offset in snapshot_offsets(self._disk.list(directory)):
            if offset > self._recovery_point and offset not in offsets:
                self._disk.remove(snapshot_path(directory, offset))  # of a stop that was not the last
        found = load_newest_snapshot(self._disk, directory, up_to_offset=self._recovery_point)
        if found is not None:
            self._producers_end = found[0]
            self._producers.replace(found[1])
        elif offsets:
            self._producers_end = offsets[0]

    def _replay(self, header: BatchHeader, batch: memoryview) -> None:
        if header.leader_epoch > self._epochs.latest_epoch:
            self._epochs.assign(header.leader_epoch, header.base_offset)
        if header.base_offset >= self._producers_end:
            ended = self._producers.replay(header, batch)
            self._producers_end = header.next_offset
            if ended is not None and ended.is_aborted:
                self._aborted.append(AbortedTransaction(*ended[:4]))

    def _replay_unread(self, segment: Segment, end_offset: int) -> None:
        """Brings the producers up to `end_offset` from a segment that needs no other look."""
        if self._producers_end >= end_offset:
            return
        span = segment.find(self._producers_end)
        if span is None:
            return
        for _, header, batch in read_batches(segment.log_file(), span.position, segment.size_bytes):
            if header.base_offset >= end_offset:
                return
            self._replay(header, batch)

    # --- segments

    def _load_segments(self, offsets: list[int]) -> tuple[list[Segment], int]:
        segments: list[Segment] = []
        end_offset = self._log_start_offset
        for number, base_offset in enumerate(offsets):
            following = offsets[number + 1] if number + 1 < len(offsets) else None
            segment = self._segment(base_offset)
            if following is not None and self._can_be_trusted(segment, following):
                end_offset = following
            else:
                end_offset = self._check(segment)
                if following is not None and following != end_offset:
                    segments.append(segment)
                    self._put_aside(offsets[number + 1 :], end_offset)
                    break
                if following is not None:
                    segment.retire()
            segments.append(segment)
        if not segments:
            return [
                Segment.create(self._storage.files, self._place.directory, end_offset, self._now_ms)
            ], end_offset
        return segments, end_offset

    def _segment(self, base_offset: int) -> Segment:
        path = f"{self._place.directory}/{file_name(base_offset, LOG_SUFFIX)}"
        return Segment(
            self._storage.files,
            self._place.directory,
            base_offset,
            size_bytes=self._disk.size(path),
            created_ms=self._now_ms,
        )

    def _can_be_trusted(self, segment: Segment, end_offset: int) -> bool:
        """Whether the segment was stored whole, with its indexes, and what was read of it is sound."""
        if end_offset > self._recovery_point or not has_sound_indexes(segment, self._disk):
            return False
        try:
            self._replay_unread(segment, end_offset)
        except LogCorrupt as error:
            _logger.error("%s: damaged though it was stored whole: %s", segment.log_path, error)
            return False
        return True

    def _check(self, segment: Segment) -> int:
        """Where the segment ends."""
        file_bytes = segment.size_bytes
        trusted_offset = self._recovery_point
        replayed_from = self._producers_end
        self._aborted = []
        try:
            self._replay_unread(segment, trusted_offset)
        except LogCorrupt:
            trusted_offset = 0  # every batch is checked, and the log ends before the first damaged one
        next_offset, cut_bytes = self._recover(segment, trusted_offset)
        self._mend_transaction_index(segment, replayed_from)
        if cut_bytes:
            _logger.warning(
                "%s: cut %d of %d bytes behind offset %d, which were not written whole",
                segment.log_path,
                cut_bytes,
                file_bytes,
                next_offset,
            )
        return max(next_offset, segment.base_offset)

    def _recover(self, segment: Segment, trusted_offset: int) -> tuple[int, int]:
        recovered = recover_segment(
            segment,
            file_bytes=segment.size_bytes,
            trusted_offset=trusted_offset,
            index_interval_bytes=self._place.config.index_interval_bytes,
            on_batch=self._replay,
        )
        return recovered.next_offset, recovered.cut_bytes

    def _mend_transaction_index(self, segment: Segment, replayed_from: int) -> None:
        """Entries below what was replayed were stored with their markers, all others are made anew."""
        index = segment.transaction_index
        entries = [*index.read_sound(segment.base_offset, replayed_from), *self._aborted]
        if entries or index.entry_count():
            segment.replace_aborted(entries)

    def _put_aside(self, offsets: list[int], end_offset: int) -> None:
        _logger.error(
            "%s: the log ends at offset %d; %d later segments do not follow it and are put aside as %s files",
            self._place.directory,
            end_offset,
            len(offsets),
            DELETED_SUFFIX,
        )
        for base_offset in offsets:
            self._segment(base_offset).rename(self._disk, DELETED_SUFFIX)
