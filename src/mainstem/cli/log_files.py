"""The files of a log directory, by what they are: Kafka's, and the few that are ours.

    <topic>-<partition>/   <offset>.log .index .timeindex .txnindex .snapshot
                           leader-epoch-checkpoint, partition.metadata
    beside the folders     *-offset-checkpoint, mainstem-journal-*

A file is known by its name alone, so that one copied elsewhere can be looked at too. What is on its way
out (`.deleted`, folders that end in `-delete`) or not in use yet (`.cleaned`, `.swap`) is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final, NamedTuple

from mainstem.log import leader_epochs, names, partition_metadata
from mainstem.log.journal import PIECE_PREFIX
from mainstem.log.log_directory import parse_folder_name


class FileKind(Enum):
    SEGMENT = "segment"
    OFFSET_INDEX = "offset index"
    TIME_INDEX = "time index"
    TRANSACTION_INDEX = "transaction index"
    SNAPSHOT = "producer snapshot"
    EPOCHS = "leader epochs"
    METADATA = "partition metadata"
    CHECKPOINT = "offset checkpoint"
    JOURNAL = "journal piece"


_SUFFIXES: Final = {
    names.LOG_SUFFIX: FileKind.SEGMENT,
    names.OFFSET_INDEX_SUFFIX: FileKind.OFFSET_INDEX,
    names.TIME_INDEX_SUFFIX: FileKind.TIME_INDEX,
    names.TRANSACTION_INDEX_SUFFIX: FileKind.TRANSACTION_INDEX,
    names.SNAPSHOT_SUFFIX: FileKind.SNAPSHOT,
}
_RAFT_SNAPSHOT_SUFFIX: Final = ".checkpoint"  # of Kafka's metadata log: batches, as in a segment
_ORDER: Final = {kind: number for number, kind in enumerate(FileKind)}


class LogFile(NamedTuple):
    path: str
    kind: FileKind
    base_offset: int  # in its name; 0 where there is none

    @property
    def name(self) -> str:
        return os.path.basename(self.path)


class PartitionFolder(NamedTuple):
    path: str
    files: Sequence[LogFile]  # by kind, then by offset

    def of_kind(self, kind: FileKind) -> list[LogFile]:
        return [file for file in self.files if file.kind is kind]


def identify(path: str) -> LogFile | None:
    """What the file is; None for one that this project does not know."""
    name = os.path.basename(path)
    for suffix, kind in _SUFFIXES.items():
        offset = names.offset_of(name, suffix)
        if offset is not None:
            return LogFile(path, kind, offset)
    if name == leader_epochs.FILE_NAME:
        return LogFile(path, FileKind.EPOCHS, 0)
    if name == partition_metadata.FILE_NAME:
        return LogFile(path, FileKind.METADATA, 0)
    if name.endswith("-offset-checkpoint") or name == "log-start-offset-checkpoint":
        return LogFile(path, FileKind.CHECKPOINT, 0)
    if name.startswith(PIECE_PREFIX):
        return LogFile(path, FileKind.JOURNAL, 0)
    if name.endswith(_RAFT_SNAPSHOT_SUFFIX) and name[:20].isdigit():
        return LogFile(path, FileKind.SEGMENT, 0)
    return None


def files_in(directory: str) -> list[LogFile]:
    """The known files of one folder."""
    found = (identify(entry.path) for entry in os.scandir(directory) if entry.is_file())
    return sorted(
        (file for file in found if file is not None),
        key=lambda file: (_ORDER[file.kind], file.base_offset, file.name),
    )


def partition_folders(directory: str) -> Iterator[PartitionFolder]:
    """The partitions in a log directory; the directory itself when it is a partition's folder."""
    own = files_in(directory)
    if any(file.kind is FileKind.SEGMENT for file in own):
        yield PartitionFolder(directory, own)
    for entry in sorted(os.scandir(directory), key=lambda entry: _partition_order(entry.name)):
        if entry.is_dir() and parse_folder_name(entry.name) is not None:
            yield PartitionFolder(entry.path, files_in(entry.path))


def _partition_order(name: str) -> tuple[str, int]:
    place = parse_folder_name(name)
    return (name, -1) if place is None else (place.topic, place.partition)
