"""The log directories of a node, and the logs in them.

Each directory is a disk of its own as far as failures go: when it fails, at the start or later, its logs
go offline and the others serve on. A new log goes where the fewest are.

All methods but `schedule_delete`, `describe` and the mappings block, and run in worker threads; `logs` is
changed by whole operations on it, so that the loop may read it at any time. Who creates logs and who
deletes them is one caller, the node's `Replicas`, one call after the other.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from mainstem.config.topic_options import TopicConfig
from mainstem.log.errors import LogDirectoryFailed, LogWriteFailed
from mainstem.log.journal import Journal, is_full_disk
from mainstem.log.loading import LogPlace, create_log
from mainstem.log.log_directory import DELETE_SUFFIX, JournalSize, LogDirectory, OpenedDirectory, Owner
from mainstem.log.partition_log import PartitionLog
from mainstem.log.storage import LogStorage
from mainstem.model.errors import DiskError
from mainstem.model.ids import TopicId, TopicPartition

_SYNC_EACH_UP_TO: Final = 64  # new logs; more of them are made durable by one flush of everything

_logger = logging.getLogger(__name__)


class ReplicaDescription(NamedTuple):
    topic_partition: TopicPartition
    size_bytes: int


@dataclass(frozen=True, slots=True)
class DirectoryDescription:
    path: str
    is_online: bool
    error: str
    total_bytes: int  # of its file system; -1: unknown
    usable_bytes: int
    replicas: Sequence[ReplicaDescription]


@dataclass(frozen=True, slots=True)
class DirectorySettings:
    paths: Sequence[str]
    recovery_threads: int
    journal: JournalSize
    owner: Owner


class LogDirectories:
    def __init__(self, storage: LogStorage, settings: DirectorySettings) -> None:
        self.on_directory_failed: Callable[[str, str], None] = lambda _path, _reason: None
        self._storage = storage
        self._settings = settings
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._directories: dict[str, LogDirectory] = {}
        self._errors: dict[str, str] = {}  # of the directories that are offline
        self._removals: list[tuple[int, str]] = []  # when due, which folder
        self._checkpointing = threading.Lock()

    # --- starting and stopping

    def open(self, default_config: TopicConfig) -> None:
        """Opens every directory and recovers what needs it. A directory that cannot be opened is offline.

        Raises when none is left, or when another process holds one of them.
        """
        for path in self._settings.paths:
            settings = self._settings
            directory = LogDirectory(self._storage, path, settings.journal, settings.owner)
            try:
                opened = directory.open(default_config, settings.recovery_threads)
            except (OSError, LogDirectoryFailed) as error:
                self._errors[path] = str(error)
                directory.release()
                _logger.error("log directory %s is offline: %s", path, error)
                continue
            self._directories[path] = directory
            self._take_over(path, opened)
        if not self._directories:
            reasons = "; ".join(f"{path}: {reason}" for path, reason in self._errors.items())
            raise LogDirectoryFailed(f"no log directory can be used ({reasons})")

    def _take_over(self, path: str, opened: OpenedDirectory) -> None:
        for log in opened.logs:
            other = self._logs.get(log.topic_partition)
            if other is not None:
                self._let_go(opened)
                raise LogDirectoryFailed(
                    f"{log.topic_partition} is in {other.directory} and in {path}: "
                    "move one of them away, or run with one of the two directories"
                )
        now_ms = self._storage.clock.now_ms()
        self._removals += [(now_ms, folder) for folder in opened.deleted_folders]
        self._logs.update((log.topic_partition, log) for log in opened.logs)

    def _let_go(self, opened: OpenedDirectory) -> None:
        """Leaves every directory as a crash would: what is written down of all their logs stays as it is."""
        for log in (*self._logs.values(), *opened.logs):
            log.abandon()
        self._logs.clear()
        for directory in self._directories.values():
            directory.release()
        self._directories.clear()

    def close(self) -> None:
        """Closes every log and marks each directory as cleanly stopped."""
        for path, directory in self._directories.items():
            logs = [log for log in self._logs.values() if _parent(log) == path]
            if path in self._errors:
                for log in logs:
                    log.abandon()
                directory.release()
                continue
            try:
                directory.close(logs)
            except (OSError, DiskError) as error:
                _logger.error("log directory %s did not close cleanly, it will be recovered: %s", path, error)
                directory.release()

    # --- what is there

    @property
    def logs(self) -> Mapping[TopicPartition, PartitionLog]:
        return self._logs

    @property
    def journals(self) -> Mapping[str, Journal | None]:
        """Of every directory that was opened."""
        return {path: directory.journal for path, directory in self._directories.items()}

    @property
    def offline(self) -> Mapping[str, str]:
        """The directories that failed, with the reason."""
        return self._errors

    @property
    def has_online(self) -> bool:
        return any(path not in self._errors for path in self._directories)

    def describe(self, *, with_replicas: bool = True) -> list[DirectoryDescription]:
        by_path: dict[str, list[ReplicaDescription]] = {path: [] for path in self._settings.paths}
        for topic_partition, log in list(self._logs.items()) if with_replicas else ():
            by_path[_parent(log)].append(ReplicaDescription(topic_partition, log.size_bytes))
        return [self._described(path, replicas) for path, replicas in by_path.items()]

    def _described(self, path: str, replicas: Sequence[ReplicaDescription]) -> DirectoryDescription:
        error = self._errors.get(path, "")
        total_bytes = usable_bytes = -1
        if not error:
            try:
                disk = self._storage.disk
                total_bytes, usable_bytes = disk.total_bytes(path), disk.free_bytes(path)
            except OSError as failure:
                error = str(failure)
        return DirectoryDescription(path, not error, error, total_bytes, usable_bytes, replicas)

    # --- logs come and go

    def create_many(self, wanted: Sequence[tuple[TopicPartition, TopicId, TopicConfig]]) -> None:
        """Makes empty logs, durably. Those that were made stay when a later one fails."""
        made: list[PartitionLog] = []
        counts = self._counts()
        if not counts:
            raise LogDirectoryFailed("no log directory is online")
        one_by_one = len(wanted) <= _SYNC_EACH_UP_TO
        for topic_partition, topic_id, config in wanted:
            path = min(counts, key=counts.__getitem__)
            place = LogPlace(f"{path}/{topic_partition}", topic_partition, topic_id, config)
            try:
                made.append(create_log(self._storage, place, sync=one_by_one))
            except OSError as error:
                self._make_durable(made, one_by_one)
                raise self._refusal(path, error) from error
            counts[path] += 1
        self._make_durable(made, one_by_one)

    def _counts(self) -> dict[str, int]:
        counts = {path: 0 for path in self._directories if path not in self._errors}
        for log in list(self._logs.values()):
            path = _parent(log)
            if path in counts:
                counts[path] += 1
        return counts

    def _make_durable(self, made: Sequence[PartitionLog], one_by_one: bool) -> None:
        disk = self._storage.disk
        paths = {_parent(log) for log in made}
        try:
            if one_by_one:
                for path in paths:
                    disk.sync_directory(path)
            else:
                disk.sync_everything()
        except OSError as error:
            for path in paths:
                self.fail(path, str(error))
            raise LogDirectoryFailed(f"new partitions could not be made durable: {error}") from error
        for log in made:
            self._logs[log.topic_partition] = log

    def _refusal(self, path: str, error: OSError) -> DiskError:
        if is_full_disk(error):
            return LogWriteFailed(f"no room for a new partition in {path}: {error.strerror}", is_passing=True)
        self.fail(path, str(error))
        return LogDirectoryFailed(f"{path}: {error}")

    def schedule_delete(self, topic_partition: TopicPartition) -> PartitionLog:
        """Takes a log away at once and renames its folder, to be removed after `file.delete.delay.ms`."""
        log = self._logs.pop(topic_partition)
        log.abandon()
        path, _, name = log.directory.rpartition("/")
        ending = f".{uuid.uuid4().hex}{DELETE_SUFFIX}"
        folder = f"{path}/{name[: 255 - len(ending)]}{ending}"
        try:
            self._storage.disk.rename(log.directory, folder)
        except OSError as error:
            self.fail(path, f"cannot rename {log.directory}: {error}")
            return log
        due_ms = self._storage.clock.now_ms() + log.config.file_delete_delay_ms
        self._removals.append((due_ms, folder))
        return log

    def purge_deleted(self, now_ms: int) -> int:
        """Removes the folders of deleted logs that are due; how many."""
        due = [entry for entry in list(self._removals) if entry[0] <= now_ms]
        for entry in due:
            path = entry[1].rpartition("/")[0]
            if path not in self._errors:
                try:
                    self._storage.disk.remove_tree(entry[1])
                except OSError as error:
                    self.fail(path, str(error))
            self._removals.remove(entry)
        return len(due)

    # --- upkeep and failures

    def checkpoint(self) -> None:
        """Writes down recovery points and log starts."""
        with self._checkpointing:
            by_path: dict[str, list[PartitionLog]] = {path: [] for path in self._counts()}
            for log in list(self._logs.values()):
                if _parent(log) in by_path:
                    by_path[_parent(log)].append(log)
            for path, logs in by_path.items():
                try:
                    self._directories[path].checkpoint(logs)
                except OSError as error:
                    if not is_full_disk(error):
                        self.fail(path, str(error))
                    _logger.warning("%s: the checkpoints were not written: %s", path, error)

    def checkpoint_cleaned(self, path: str) -> None:
        """Writes down how far the logs of a directory are compacted. A full disk only delays it."""
        with self._checkpointing:
            if path in self._errors:
                return
            logs = [log for log in list(self._logs.values()) if _parent(log) == path]
            try:
                self._directories[path].checkpoint_cleaned(logs)
            except OSError as error:
                if not is_full_disk(error):
                    self.fail(path, str(error))
                _logger.warning("%s: how far its logs are compacted was not written: %s", path, error)

    def fail(self, path: str, reason: str) -> None:
        """Takes a directory offline with all its logs. Those files are not touched again."""
        if path in self._errors or path not in self._directories:
            return
        self._errors[path] = reason
        _logger.error("log directory %s is offline: %s", path, reason)
        self.on_directory_failed(path, reason)


def _parent(log: PartitionLog) -> str:
    return log.directory.rpartition("/")[0]
