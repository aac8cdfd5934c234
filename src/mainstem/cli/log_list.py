"""What `mainstem log list` says of a partition: from names and sizes alone, no log is read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from mainstem.cli.log_files import FileKind, PartitionFolder, partition_folders
from mainstem.cli.tables import Column
from mainstem.log.checkpoints import CLEANED, LOG_STARTS, read_checkpoint
from mainstem.log.log_directory import parse_folder_name
from mainstem.model.ids import TopicPartition
from mainstem.ports.disk import RealDisk

COLUMNS: Final = (
    Column("partition", "PARTITION"),
    Column("segments", "SEGMENTS", is_number=True),
    Column("size_bytes", "BYTES", is_number=True),
    Column("log_start_offset", "START", is_number=True),
    Column("active_base_offset", "ACTIVE FROM", is_number=True),
    Column("first_dirty_offset", "COMPACTED TO", is_number=True),
    Column("dirty_bytes", "DIRTY BYTES", is_number=True),
    Column("dirty_percent", "DIRTY %", is_number=True),
)


def partition_rows(directory: str) -> Iterator[dict[str, Any]]:
    """A row for each partition of a log directory, or for the one whose folder this is."""
    disk, own = RealDisk(), os.path.abspath(directory)
    parent = os.path.dirname(own)
    starts = {path: read_checkpoint(disk, path, LOG_STARTS) for path in (own, parent)}
    cleaned = {path: read_checkpoint(disk, path, CLEANED) for path in (own, parent)}
    for folder in partition_folders(directory):
        if folder.of_kind(FileKind.SEGMENT):
            path = os.path.dirname(os.path.abspath(folder.path))
            yield _row(folder, starts[path], cleaned[path])


def _row(
    folder: PartitionFolder, starts: Mapping[TopicPartition, int], cleaned: Mapping[TopicPartition, int]
) -> dict[str, Any]:
    name = os.path.basename(os.path.abspath(folder.path))
    place = parse_folder_name(name)
    segments = folder.of_kind(FileKind.SEGMENT)
    sizes = {segment.base_offset: os.path.getsize(segment.path) for segment in segments}
    row: dict[str, Any] = {
        "partition": name,
        "segments": len(segments),
        "size_bytes": sum(sizes.values()),
        "log_start_offset": segments[0].base_offset,
        "active_base_offset": segments[-1].base_offset,
        "first_dirty_offset": None,
        "dirty_bytes": None,
        "dirty_percent": None,
    }
    if place is None:
        return row
    row["log_start_offset"] = max(segments[0].base_offset, starts.get(place, 0))
    first_dirty_offset = cleaned.get(place)
    if first_dirty_offset is not None:
        row |= _dirt(list(sizes.items()), first_dirty_offset)
    return row


def _dirt(sizes: list[tuple[int, int]], first_dirty_offset: int) -> dict[str, Any]:
    """As the cleaner reckons: of the closed segments, those that reach beyond the first dirty offset."""
    clean_bytes = dirty_bytes = 0
    for (_, size), (end_offset, _) in pairwise(sizes):
        if end_offset <= first_dirty_offset:
            clean_bytes += size
        else:
            dirty_bytes += size
    total = clean_bytes + dirty_bytes
    return {
        "first_dirty_offset": first_dirty_offset,
        "dirty_bytes": dirty_bytes,
        "dirty_percent": round(100 * dirty_bytes / total) if total else 0,
    }
