"""One log directory: its lock, its folders, its start and its stop.

    .lock                                    held by the process that uses the directory
    meta.properties                          whose it is: see meta_properties.py
    <topic>-<partition>/                     a log
    <topic>-<partition>.<unique>-delete/     a log of a deleted topic, until it is removed
    *-checkpoint                             see checkpoints.py
    .kafka_cleanshutdown, mainstem-clean-state   after a clean stop only: see clean_shutdown.py
    mainstem-journal-*                       see journal.py

A start takes the mark of the clean stop away, opens or recovers each log, and after an unclean stop
replays the journal on top, flushes what the replay changed and makes the journal void, in this order: a
crash at any point of it leaves a directory that the next start recovers the same way.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from mainstem.config.topic_options import TopicConfig
from mainstem.log import clean_shutdown, meta_properties, partition_metadata
from mainstem.log.checkpoints import CLEANED, LOG_STARTS, RECOVERY_POINTS, read_checkpoint, write_checkpoint
from mainstem.log.clean_shutdown import CleanLog, CleanShutdown
from mainstem.log.errors import LogDirectoryFailed
from mainstem.log.journal import Journal
from mainstem.log.journal_replay import ReplayedLog, replay_journal
from mainstem.log.loading import LogPlace, open_clean_log, recover_log
from mainstem.log.partition_log import PartitionLog
from mainstem.log.storage import LogStorage
from mainstem.model.errors import DiskError
from mainstem.model.ids import ZERO_TOPIC_ID, TopicId, TopicPartition
from mainstem.ports.disk import DirectoryLock, make_directory_durably

LOCK: Final = ".lock"
DELETE_SUFFIX: Final = "-delete"
_FOREIGN_FOLDER: Final = "__cluster_metadata-0"  # in which Kafka keeps its metadata: never touched
_FOREIGN_SUFFIXES: Final = ("-future", "-stray")  # folders that a Kafka broker keeps for its own work
_PROGRESS_EVERY_MS: Final = 2_000.0

_logger = logging.getLogger(__name__)


class JournalSize(NamedTuple):
    piece_bytes: int
    max_pieces: int


class Owner(NamedTuple):
    """Whose the directory is."""

    cluster_id: str
    node_id: int


@dataclass(slots=True)
class OpenedDirectory:
    logs: list[PartitionLog] = field(default_factory=list)
    deleted_folders: list[str] = field(default_factory=list)


def parse_folder_name(name: str) -> TopicPartition | None:
    """Topic and partition of a log's folder; None for a folder that is none."""
    topic, dash, number = name.rpartition("-")
    if not dash or not topic or not (number.isascii() and number.isdigit()):
        return None
    return TopicPartition(topic, int(number))


class LogDirectory:
    def __init__(self, storage: LogStorage, path: str, journal_size: JournalSize, owner: Owner) -> None:
        self.path = path
        self.journal: Journal | None = None
        self._storage = storage
        self._disk = storage.disk
        self._journal_size = journal_size
        self._owner = owner
        self._lock: DirectoryLock | None = None

    # --- starting

    def open(self, default_config: TopicConfig, thread_count: int) -> OpenedDirectory:
        disk = self._disk
        make_directory_durably(disk, self.path)
        try:
            self._lock = disk.lock(f"{self.path}/{LOCK}")
        except BlockingIOError as error:
            raise LogDirectoryFailed(
                "another process uses it: stop that one, or give this node directories of its own"
            ) from error
        meta_properties.claim(disk, self.path, *self._owner)
        clean = clean_shutdown.take(disk, self.path)
        self.journal = Journal(
            disk,
            self.path,
            piece_bytes=self._journal_size.piece_bytes,
            max_pieces=self._journal_size.max_pieces,
        )
        opened = OpenedDirectory()
        places = self._find(opened, default_config)
        left = self._open_clean(opened, places, clean) if clean is not None else places
        self._recover(opened, left, thread_count)
        cleaned = read_checkpoint(disk, self.path, CLEANED)
        for log in opened.logs:
            log.first_dirty_offset = min(cleaned.get(log.topic_partition, 0), log.log_end_offset)
        if clean is not None and clean.journal is not None:
            self.journal.resume(clean.journal)
        else:
            self._replay(opened)
        return opened

    def _find(self, opened: OpenedDirectory, config: TopicConfig) -> list[LogPlace]:
        places: list[LogPlace] = []
        for name, is_directory in self._disk.scan(self.path):
            if not is_directory or name == _FOREIGN_FOLDER or name.endswith(_FOREIGN_SUFFIXES):
                continue
            folder = f"{self.path}/{name}"
            if name.endswith(DELETE_SUFFIX):
                opened.deleted_folders.append(folder)
                continue
            topic_partition = parse_folder_name(name)
            if topic_partition is not None:
                places.append(LogPlace(folder, topic_partition, ZERO_TOPIC_ID, config))
        return places

    def _open_clean(
        self, opened: OpenedDirectory, places: Sequence[LogPlace], clean: CleanShutdown
    ) -> list[LogPlace]:
        """Opens what the clean stop knew; the rest is to be recovered."""
        states: Mapping[TopicPartition, CleanLog] = {row.topic_partition: row for row in clean.logs}
        left: list[LogPlace] = []
        for place in places:
            row = states.get(place.topic_partition)
            log = None
            if row is not None:
                known = replace(place, topic_id=TopicId(row.topic_id))
                log = open_clean_log(self._storage, known, row.state, row.log_start_offset)
            if log is None:
                left.append(place)
            else:
                opened.logs.append(log)
        return left

    def _recover(self, opened: OpenedDirectory, places: Sequence[LogPlace], thread_count: int) -> None:
        if not places:
            return
        points = read_checkpoint(self._disk, self.path, RECOVERY_POINTS)
        starts = read_checkpoint(self._disk, self.path, LOG_STARTS)
        started_ms = told_ms = self._storage.clock.monotonic_ms()
        _logger.info("%s: recovering %d logs after an unclean stop", self.path, len(places))
        with ThreadPoolExecutor(thread_count, thread_name_prefix="recovery") as pool:
            pending = [
                pool.submit(
                    self._recover_one,
                    place,
                    points.get(place.topic_partition, 0),
                    starts.get(place.topic_partition, 0),
                )
                for place in places
            ]
            for number, done in enumerate(as_completed(pending), 1):
                opened.logs.append(done.result())
                now_ms = self._storage.clock.monotonic_ms()
                if now_ms - told_ms > _PROGRESS_EVERY_MS:
                    told_ms = now_ms
                    _logger.info("%s: recovered %d of %d logs", self.path, number, len(places))
        took_ms = self._storage.clock.monotonic_ms() - started_ms
        _logger.info("%s: recovered %d logs in %.0f ms", self.path, len(places), took_ms)

    def _recover_one(self, place: LogPlace, recovery_point: int, log_start_offset: int) -> PartitionLog:
        try:
            topic_id = partition_metadata.read(self._disk, place.directory)
            known = replace(place, topic_id=topic_id or ZERO_TOPIC_ID)
            return recover_log(
                self._storage, known, recovery_point=recovery_point, log_start_offset=log_start_offset
            )
        except DiskError as error:
            raise LogDirectoryFailed(f"{place.directory} cannot be recovered: {error}") from error

    def _replay(self, opened: OpenedDirectory) -> None:
        assert self.journal is not None
        told_ms = self._storage.clock.monotonic_ms()

        def tell(done_bytes: int, all_bytes: int) -> None:
            nonlocal told_ms
            now_ms = self._storage.clock.monotonic_ms()
            if now_ms - told_ms > _PROGRESS_EVERY_MS:
                told_ms = now_ms
                _logger.info("%s: replayed %d of %d bytes of the journal", self.path, done_bytes, all_bytes)

        logs: dict[tuple[TopicId, int], ReplayedLog] = {
            (log.topic_id, log.topic_partition.partition): log
            for log in opened.logs
            if log.topic_id != ZERO_TOPIC_ID  # its making was cut short: nothing was ever written to it
        }
        result = replay_journal(self.journal, logs, tell)
        if result.rounds:
            _logger.info(
                "%s: the journal's %d rounds restored %d bytes to %d logs",
                self.path,
                result.rounds,
                result.restored_bytes,
                len(result.restored),
            )
            for log in result.held:  # not only what was restored: soon only the files will have it
                log.flush()
        self.journal.restart()

    # --- while it runs

    def checkpoint(self, logs: Sequence[PartitionLog]) -> None:
        points = {log.topic_partition: log.recovery_point for log in logs}
        write_checkpoint(self._disk, self.path, RECOVERY_POINTS, points)
        starts = {log.topic_partition: log.log_start_offset for log in logs if log.log_start_offset > 0}
        write_checkpoint(self._disk, self.path, LOG_STARTS, starts)

    def checkpoint_cleaned(self, logs: Sequence[PartitionLog]) -> None:
        cleaned = {log.topic_partition: log.first_dirty_offset for log in logs if log.first_dirty_offset > 0}
        write_checkpoint(self._disk, self.path, CLEANED, cleaned)

    # --- stopping

    def close(self, logs: Sequence[PartitionLog]) -> None:
        rows = []
        for log in logs:
            log.close()
            rows.append(
                clean_shutdown.clean_log(
                    log.topic_partition, log.topic_id, log.log_start_offset, log.clean_state()
                )
            )
        self.checkpoint(logs)
        position = None
        if self.journal is not None:
            position = self.journal.position
            self.journal.close()
        shutdown = CleanShutdown(clean_shutdown.VERSION, secrets.randbits(62), position, rows)
        clean_shutdown.leave(self._disk, self.path, shutdown)
        self.release()

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None
