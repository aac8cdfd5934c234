"""Brings back, after an unclean stop, what only the journal still holds.

Runs after each partition log recovered itself (cut its torn tail) and before it serves. Entries that
the file has are skipped, the rest is appended as it was: same offsets, same leader epochs. Running
it twice changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mainstem.log.journal import Cut, Journal, JournaledLog
from mainstem.log.journal_format import APPEND, JournalEntry
from mainstem.model.batch import HEADER_BYTES, Buffer, parse_header
from mainstem.model.ids import TopicId

_logger = logging.getLogger(__name__)


class ReplayedLog(JournaledLog, Protocol):
    @property
    def log_end_offset(self) -> int: ...

    def append_recovered(self, batches: Buffer) -> None:
        """Appends whole batches whose first base offset is the log's end, as they are."""
        ...


@dataclass(slots=True)
class ReplayResult:
    rounds: int = 0
    entries: int = 0
    restored_bytes: int = 0
    held: set[ReplayedLog] = field(default_factory=set)  # logs that the journal has entries of
    restored: set[ReplayedLog] = field(default_factory=set)
    gaps: set[ReplayedLog] = field(default_factory=set)  # logs with entries that could not be placed


def replay_journal(
    journal: Journal,
    logs: Mapping[tuple[TopicId, int], ReplayedLog],
    on_progress: Callable[[int, int], None] | None = None,
) -> ReplayResult:
    """`on_progress` gets the journal's bytes done and in all. The caller flushes the `held` logs
    and then restarts the journal."""
    scan = journal.scan()
    result = ReplayResult()
    done_bytes = 0
    for found in journal.rounds(scan):
        result.rounds += 1
        result.entries += len(found.entries)
        for entry in found.entries:
            done_bytes += entry.size_bytes
            if entry.kind != APPEND:
                continue
            log = logs.get((entry.topic_id, entry.partition))
            if log is None:
                continue
            result.held.add(log)
            if entry.next_offset <= log.log_end_offset:
                continue
            cuts = scan.cuts.get((entry.topic_id, entry.partition))
            end_offset = _end_of(entry, found.sequence, cuts) if cuts else entry.next_offset
            _restore(log, entry, end_offset, result)
        if on_progress is not None:
            on_progress(done_bytes, scan.size_bytes)
    return result


def _end_of(entry: JournalEntry, sequence: int, cuts: Sequence[Cut]) -> int:
    return min([entry.next_offset, *(cut.offset for cut in cuts if cut.sequence > sequence)])


def _restore(log: ReplayedLog, entry: JournalEntry, end_offset: int, result: ReplayResult) -> None:
    if end_offset <= log.log_end_offset:
        return
    if entry.base_offset > log.log_end_offset:
        if log not in result.gaps:
            result.gaps.add(log)
            _logger.error(
                "%s: the journal has offsets from %d on, the log ends at %d: what lies between is lost",
                log.topic_partition,
                entry.base_offset,
                log.log_end_offset,
            )
        return
    batches = memoryview(entry.buffers[0])
    start, end = _range_of(batches, log.log_end_offset, end_offset)
    if start < end:
        log.append_recovered(batches[start:end])
        result.restored.add(log)
        result.restored_bytes += end - start


def _range_of(batches: memoryview, first_offset: int, end_offset: int) -> tuple[int, int]:
    """Where in an entry the batches from `first_offset` to `end_offset` stand."""
    position, start = 0, -1
    while position + HEADER_BYTES <= len(batches):
        header = parse_header(batches, position)
        if header.base_offset >= end_offset:
            break
        if start < 0 and header.base_offset >= first_offset:
            start = position
        position += header.size_bytes
    return (position if start < 0 else start), position
