"""Figures of what lies below the partitions: directories, commit rounds, journal, upkeep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mainstem.admin.metrics.exposition import Family, by_label, counter, gauge
from mainstem.admin.node import Node
from mainstem.core.log_cleaner import CleanerMeters
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
    yield counter(
        "log_flush_seconds_total",
        "Time that they took: over the flushes, what one costs.",
        housekeeping.flush_seconds,
    )
    yield counter("segments_deleted_total", "Segments that retention dropped.", housekeeping.segments_deleted)
    yield from _compaction(node.cleaner.meters)


def _compaction(meters: CleanerMeters) -> Iterable[Family]:
    yield counter("compaction_runs_total", "Logs that were compacted.", meters.runs)
    yield counter("compaction_failures_total", "Compactions that failed.", meters.failures)
    yield counter("compaction_read_bytes_total", "Bytes that compaction read.", meters.bytes_read)
    yield counter("compaction_written_bytes_total", "Bytes that compaction wrote.", meters.bytes_written)
    yield counter("compaction_records_read_total", "Records that compaction looked at.", meters.records_read)
    yield counter("compaction_records_kept_total", "Records that it kept.", meters.records_kept)
    yield counter("compaction_seconds_total", "Time spent on compactions.", meters.seconds)
    yield gauge(
        "compaction_max_dirty_percent",
        "How much of the dirtiest compacted log is not compacted.",
        round(meters.max_dirty_ratio * 100),
    )
    yield gauge(
        "compaction_max_buffer_utilization_percent",
        "How full the last compaction's buffer of keys was.",
        round(meters.max_map_utilization * 100),
    )
    yield gauge(
        "compaction_uncleanable_partitions",
        "Logs whose compaction failed; they are not tried again before a restart.",
        len(meters.uncleanable),
    )


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
