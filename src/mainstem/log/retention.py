"""Which segments of a log have had their time.

Only whole segments go, oldest first, and none that holds an offset at or above the limit (the high
watermark: nothing that is not yet replicated is dropped). Three reasons, whichever comes first:

- its newest record is older than `retention.ms`;
- without it the log still has `retention.bytes`;
- all of it lies below the log start offset (records were deleted by request).

The first two hold only under `cleanup.policy` delete. A segment whose records carry no timestamp is as
old as this process's knowledge of it. The active segment goes only when it rolls first, which it does
when all others are due and it is due by time or size as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mainstem.log.names import DELETED_SUFFIX
from mainstem.log.producer_snapshot import snapshot_path
from mainstem.log.segment import Segment
from mainstem.ports.disk import Disk

if TYPE_CHECKING:
    from mainstem.config.topic_options import TopicConfig


def count_due_segments(
    segments: Sequence[Segment],
    config: TopicConfig,
    *,
    now_ms: int,
    limit_offset: int,
    log_start_offset: int,
    log_end_offset: int,
) -> int:
    """How many of the oldest segments are to be deleted; all of them means that the active one rolls."""
    deletes = "delete" in config.cleanup_policy
    retention_ms = config.retention_ms if deletes else -1
    retention_bytes = config.retention_bytes if deletes else -1
    excess = sum(segment.size_bytes for segment in segments) - retention_bytes if retention_bytes >= 0 else -1
    count = 0
    for number, segment in enumerate(segments):
        is_active = number == len(segments) - 1
        end_offset = log_end_offset if is_active else segments[number + 1].base_offset
        if end_offset > limit_offset or (is_active and segment.size_bytes == 0):
            break
        due = end_offset <= log_start_offset and not is_active
        if not due and retention_ms >= 0:
            due = now_ms - _newest_ms(segment) > retention_ms
        if not due and excess >= segment.size_bytes:
            due = True
        if not due:
            break
        excess -= segment.size_bytes
        count += 1
    return count


def _newest_ms(segment: Segment) -> int:
    timestamp = segment.max_timestamp
    return timestamp if timestamp >= 0 else segment.created_ms


def rename_dropped(disk: Disk, directory: str, dropped: Iterable[Segment]) -> list[str]:
    """Gives all files of these segments the name of what will be deleted; the new paths."""
    paths: list[str] = []
    for segment in dropped:
        paths += segment.rename(disk, DELETED_SUFFIX)
        snapshot = snapshot_path(directory, segment.base_offset)
        if disk.exists(snapshot):
            disk.rename(snapshot, snapshot + DELETED_SUFFIX)
            paths.append(snapshot + DELETED_SUFFIX)
    return paths


@dataclass(slots=True)
class PendingDeletions:
    """Files that were renamed to `.deleted` and wait for `file.delete.delay.ms` to pass."""

    _waiting: list[tuple[int, list[str]]] = field(default_factory=list)  # due time, paths

    def add(self, due_ms: int, paths: list[str]) -> None:
        self._waiting.append((due_ms, paths))

    def __len__(self) -> int:
        return len(self._waiting)

    def purge(self, disk: Disk, now_ms: int) -> int:
        """Removes the files that are due; how many."""
        removed = 0
        for entry in [entry for entry in self._waiting if entry[0] <= now_ms]:
            for path in entry[1]:
                disk.remove(path)
                removed += 1
            self._waiting.remove(entry)  # alone: others may be added meanwhile
        return removed
