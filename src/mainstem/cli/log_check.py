"""A partition's folder or a whole log directory, checked: segments in order, and all that lies beside them.

Per file the first damage counts, because what follows it may only be its consequence. Offsets that other
files promise are compared with the end of the log: a promise beyond it means that records are gone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from mainstem.cli.log_damage import Damage, damage_of
from mainstem.cli.log_files import FileKind, LogFile, PartitionFolder, files_in, partition_folders
from mainstem.cli.log_segment_check import OnBytes, SegmentCheck, SegmentContext
from mainstem.log import partition_metadata
from mainstem.log.checkpoints import LOG_STARTS, RECOVERY_POINTS, parse_checkpoint
from mainstem.log.errors import LogCorrupt
from mainstem.log.leader_epochs import LeaderEpochs
from mainstem.log.leader_epochs import parse_checkpoint as parse_epochs
from mainstem.log.log_directory import parse_folder_name
from mainstem.log.producer_snapshot import decode_snapshot
from mainstem.model.ids import TopicPartition
from mainstem.ports.disk import RealDisk

_INDEX_KINDS = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TRANSACTION_INDEX)
_PROMISES: Mapping[str, str] = {
    RECOVERY_POINTS: "says that everything below offset {offset} was on disk",
    LOG_STARTS: "says that the log begins at offset {offset}",
    "replication-offset-checkpoint": "says that everything below offset {offset} was committed",
}
_LOST = (
    "What lay in between is gone from this directory. Where another replica has it: stop the broker, move "
    "the partition's folder away, start, and it copies it. Where not, the log goes on from its end."
)


@dataclass(slots=True)
class CheckReport:
    """What was looked at, and what is wrong with it."""

    partition_count: int = 0
    segment_count: int = 0
    batch_count: int = 0
    record_count: int = 0
    size_bytes: int = 0
    reserved_bytes: int = 0
    damage: list[Damage] = field(default_factory=list)
    end_offsets: dict[TopicPartition, int] = field(default_factory=dict)


def log_bytes(directory: str) -> int:
    """How much there is to be read."""
    return sum(
        os.path.getsize(file.path)
        for folder in partition_folders(directory)
        for file in folder.of_kind(FileKind.SEGMENT)
    )


def check_directory(directory: str, *, is_deep: bool, on_bytes: OnBytes) -> CheckReport:
    report = CheckReport()
    for folder in partition_folders(directory):
        _check_partition(folder, report, is_deep, on_bytes)
    for file in files_in(directory):
        if file.kind is FileKind.CHECKPOINT:
            report.damage += _checkpoint_damage(file, report.end_offsets)
    return report


def _check_partition(folder: PartitionFolder, report: CheckReport, is_deep: bool, on_bytes: OnBytes) -> None:
    report.partition_count += 1
    epochs = LeaderEpochs()
    epochs_path = ""
    for file in folder.files:
        if file.kind is FileKind.EPOCHS:
            epochs_path = file.path
            epochs, damage = _load_epochs(file)
            report.damage += damage
        elif file.kind in (FileKind.SNAPSHOT, FileKind.METADATA):
            report.damage += _small_file_damage(file)
    segments = folder.of_kind(FileKind.SEGMENT)
    indexes = [file for kind in _INDEX_KINDS for file in folder.of_kind(kind)]
    names = {segment.base_offset for segment in segments}
    for index in indexes:
        if index.base_offset not in names:
            report.damage.append(damage_of(index.path, index.kind, "there is no segment of this name"))
    first_offset = 0
    is_whole = True
    for number, segment in enumerate(segments):
        own = [index for index in indexes if index.base_offset == segment.base_offset]
        context = SegmentContext(first_offset, number == len(segments) - 1, epochs, epochs_path, is_deep)
        checked = SegmentCheck(segment, own, context).run(on_bytes)
        is_whole = is_whole and checked.is_whole
        first_offset = checked.next_offset if checked.is_whole else first_offset
        report.segment_count += 1
        report.batch_count += checked.batch_count
        report.record_count += checked.record_count
        report.size_bytes += checked.size_bytes
        report.reserved_bytes += checked.reserved_bytes
        report.damage += checked.damage
        if any(damage.kind is FileKind.EPOCHS for damage in checked.damage):
            epochs = LeaderEpochs()  # once is enough
    place = parse_folder_name(os.path.basename(os.path.abspath(folder.path)))
    if place is not None and segments and is_whole:
        report.end_offsets[place] = first_offset


def _load_epochs(file: LogFile) -> tuple[LeaderEpochs, list[Damage]]:
    try:
        entries = parse_epochs(file.name, RealDisk().read_file(file.path))
    except (LogCorrupt, OSError) as error:
        return LeaderEpochs(), [damage_of(file.path, file.kind, str(error))]
    for before, entry in pairwise(entries):
        if entry.epoch <= before.epoch or entry.start_offset <= before.start_offset:
            told = (
                f"epoch {entry.epoch} from offset {entry.start_offset} does not rise above the one before it"
            )
            return LeaderEpochs(), [damage_of(file.path, file.kind, told, offset=entry.start_offset)]
    return LeaderEpochs(entries), []


def _small_file_damage(file: LogFile) -> Iterator[Damage]:
    disk = RealDisk()
    try:
        if file.kind is FileKind.SNAPSHOT:
            decode_snapshot(disk.read_file(file.path))
        else:
            partition_metadata.read(disk, os.path.dirname(file.path))
    except (LogCorrupt, OSError) as error:
        yield damage_of(file.path, file.kind, str(error))


def _checkpoint_damage(file: LogFile, end_offsets: Mapping[TopicPartition, int]) -> Iterator[Damage]:
    try:
        offsets = parse_checkpoint(RealDisk().read_file(file.path))
    except (LogCorrupt, OSError) as error:
        yield damage_of(file.path, file.kind, str(error))
        return
    promise = _PROMISES.get(file.name)
    for place, offset in offsets.items():
        end = end_offsets.get(place)
        if promise is not None and end is not None and offset > end:
            told = f"{promise.format(offset=offset)} of {place}, which ends at {end}"
            yield Damage(file.path, file.kind, None, end, told, _LOST)
            return
