"""Figures of what lies below the partitions: directories, commit rounds, journal, upkeep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mainstem.admin.metrics.exposition import Family, by_label, counter, gauge
from mainstem.admin.node import Node
from mainstem.log.directories import DirectoryDescription


def families(node: Node) -> Iterable[Family]:
    yield from _directories(node.directories.describe(with_replicas=False))
    yield from _commit_rounds(node)
    journals = {path: journal for path, journal in node.directories.journals.items() if journal is not None}
    yield by_label(
        "gauge",
        "journal_pieces",
        "Files of the journal, in use or free.",
        "directory",
        {path: journal.piece_count for path, journal in journals.items()},
    )
    housekeeping = node.housekeeping
    yield counter("log_flushes_total", "Flushes of closed segments and by time.", housekeeping.flush_count)
    yield counter("segments_deleted_total", "Segments that retention dropped.", housekeeping.segments_deleted)


def _directories(directories: Sequence[DirectoryDescription]) -> Iterable[Family]:
    def per_directory(values: Iterable[int | bool]) -> Mapping[str, int]:
        return {each.path: int(value) for each, value in zip(directories, values, strict=True)}

    yield by_label(
        "gauge",
        "log_directory_online",
        "1 while the directory is served.",
        "directory",
        per_directory(each.is_online for each in directories),
    )
    yield by_label(
        "gauge",
        "log_directory_total_bytes",
        "Size of the file system; -1 where it is not known.",
        "directory",
        per_directory(each.total_bytes for each in directories),
    )
    yield by_label(
        "gauge",
        "log_directory_usable_bytes",
        "What may still be written; -1 where it is not known.",
        "directory",
        per_directory(each.usable_bytes for each in directories),
    )


def _commit_rounds(node: Node) -> Iterable[Family]:
    rounds = node.commits.statistics()
    yield by_label(
        "counter",
        "commit_rounds_total",
        "Rounds of group commit.",
        "directory",
        {directory: each.rounds for directory, each in rounds.items()},
    )
    yield by_label(
        "counter",
        "commit_seconds_total",
        "Time that rounds took: over the rounds, what one flush costs.",
        "directory",
        {directory: each.seconds for directory, each in rounds.items()},
    )
    yield by_label(
        "counter",
        "commit_bytes_total",
        "Bytes that rounds made durable.",
        "directory",
        {directory: each.bytes for directory, each in rounds.items()},
    )
    yield by_label(
        "counter",
        "journal_rounds_total",
        "Rounds written to the journal.",
        "directory",
        {directory: each.journal_rounds for directory, each in rounds.items()},
    )
    yield by_label(
        "counter",
        "direct_flushes_total",
        "Partition files that a round flushed itself.",
        "directory",
        {directory: each.direct_flushes for directory, each in rounds.items()},
    )
    yield gauge("commit_pending_bytes", "Bytes that wait for a round.", node.commits.pending_bytes)
