"""`mainstem consume`: records become lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import click

from mainstem.cli.broker_link import bootstrap_option, open_cluster
from mainstem.cli.moments import Start, StartType
from mainstem.cli.progress import ProgressBar
from mainstem.cli.record_text import PLAIN_FIELDS, json_line, plain_line, template_line, unescape
from mainstem.client.cluster import ClusterClient, check_partition
from mainstem.client.groups import commit_offsets, committed_offsets
from mainstem.client.offsets import PartitionRange, offsets_at, partition_ranges, partitions_of
from mainstem.client.reader import FetchedRecord, RecordReader
from mainstem.model.ids import TopicPartition

_POLL_S: Final = 0.5
_COMMIT_EVERY_S: Final = 5.0
_WRITE_BYTES: Final = 64 * 1024

Positions = Mapping[TopicPartition, int]


@click.command()
@click.argument("topic")
@click.option(
    "--from",
    "start",
    type=StartType(),
    metavar="WHERE",
    help="earliest, latest, an offset, -N (the last N of each partition), a time (2026-11-19T08:30Z) or how "
    "long ago (15m). Default: where the group stopped, else earliest.",
)
@click.option("--partition", "numbers", type=click.IntRange(0), multiple=True, help="Only this one.")
@click.option("--follow", "-f", "is_following", is_flag=True, help="Wait for more records at the end.")
@click.option("--max", "most", type=click.IntRange(1), metavar="N", help="Stop after N records.")
@click.option("--group", metavar="NAME", help="Go on where this group stopped, and commit for it.")
@click.option("--no-commit", is_flag=True, help="With --group: leave its offsets as they are.")
@click.option(
    "--isolation",
    type=click.Choice(["read_uncommitted", "read_committed"]),
    default="read_uncommitted",
    show_default=True,
    help="read_committed: nothing of a transaction that was aborted, or is still open.",
)
@click.option("--json", "as_json", is_flag=True, help="A JSON object per line, losing nothing.")
@click.option(
    "--fields",
    metavar="NAMES",
    help=f"What a plain line shows, with commas. Default: value. There are {', '.join(PLAIN_FIELDS)}.",
)
@click.option("--separator", default="\\t", show_default=True, metavar="TEXT", help="Between the fields.")
@click.option("--format", "template", metavar="TEXT", help="Such as '{partition}@{offset} {value}\\n'.")
@click.option("--progress/--no-progress", "is_bar_wanted", default=None, help="The bar on standard error.")
@bootstrap_option
def command(topic: str, numbers: Sequence[int], group: str | None, **options: Any) -> None:
    """Print the records of TOPIC: those that are there now, or with --follow also those to come.

    A plain line is the record's value; keys and values go out as the bytes they are.

    With --group offsets are committed for a group without joining it, so its members must be stopped.
    """
    line_of = _line_maker(options)
    if options["no_commit"] and group is None:
        raise click.UsageError("--no-commit is for --group")
    with open_cluster(options["bootstrap"]) as cluster:
        partitions = _chosen(cluster, topic, numbers)
        read_committed = options["isolation"] == "read_committed"
        ranges = partition_ranges(cluster, partitions, read_committed=read_committed)
        positions = _positions(cluster, ranges, group, options["start"])
        reader = RecordReader(
            cluster,
            positions,
            ends=None if options["is_following"] else {part: found.end for part, found in ranges.items()},
            read_committed=read_committed,
            on_gap=_tell_gap,
        )
        commit = _Commit(cluster, None if options["no_commit"] else group)
        most = options["most"] or sys.maxsize
        total = min(most, reader.remaining_count or most)
        bar = ProgressBar(topic, total, is_bytes=False, is_wanted=_is_bar_seen(options))
        try:
            with bar:
                _print_records(reader, line_of, most, commit, bar)
        finally:
            reader.close()
            commit.now()


class _Commit:
    """Commits, for a group, the offsets after what was printed and flushed."""

    def __init__(self, cluster: ClusterClient, group: str | None) -> None:
        self._cluster = cluster
        self._group = group
        self._printed: dict[TopicPartition, int] = {}
        self._due_at = time.monotonic() + _COMMIT_EVERY_S

    def note(self, positions: Positions) -> None:
        if self._group is None:
            return
        self._printed.update(positions)
        if time.monotonic() >= self._due_at:
            self.now()

    def now(self) -> None:
        if self._group is not None and self._printed:
            commit_offsets(self._cluster, self._group, self._printed)
            self._printed.clear()
        self._due_at = time.monotonic() + _COMMIT_EVERY_S


class _Printer:
    """Gathers lines and writes them in one go; `positions` is behind what was written."""

    def __init__(self, commit: _Commit) -> None:
        self._out = sys.stdout.buffer
        self._commit = commit
        self._lines: list[bytes] = []
        self._size_bytes = 0
        self._positions: dict[TopicPartition, int] = {}

    def add(self, record: FetchedRecord, line: bytes) -> None:
        self._lines.append(line)
        self._positions[record.partition] = record.offset + 1
        self._size_bytes += len(line)
        if self._size_bytes >= _WRITE_BYTES:
            self.write()

    def write(self) -> None:
        if self._lines:
            self._out.write(b"".join(self._lines))
            self._out.flush()
            self._commit.note(self._positions)
            self._lines.clear()
            self._positions.clear()
            self._size_bytes = 0


def _print_records(
    reader: RecordReader,
    line_of: Callable[[FetchedRecord], bytes],
    most: int,
    commit: _Commit,
    bar: ProgressBar,
) -> None:
    remaining = reader.remaining_count
    printer = _Printer(commit)
    count = 0
    try:
        while not reader.is_finished:
            for record in reader.read(_POLL_S):
                printer.add(record, line_of(record))
                count += 1
                if count == most:
                    return
            printer.write()
            bar.show(min(most, max(count, remaining - reader.remaining_count)))
    finally:
        printer.write()


def _chosen(cluster: ClusterClient, topic: str, numbers: Sequence[int]) -> list[TopicPartition]:
    partitions = partitions_of(cluster, topic)
    if not numbers:
        return partitions
    chosen = [TopicPartition(topic, number) for number in dict.fromkeys(numbers)]
    for partition in chosen:
        check_partition(partition, len(partitions))
    return chosen


def _positions(
    cluster: ClusterClient,
    ranges: Mapping[TopicPartition, PartitionRange],
    group: str | None,
    start: Start | None,
) -> dict[TopicPartition, int]:
    """--from says where; else the group does, for the partitions for which it has committed."""
    positions = dict(_places(cluster, ranges, start or Start("earliest")))
    if group is not None and start is None:
        committed = committed_offsets(cluster, group)
        positions |= {part: committed[part].offset for part in ranges if part in committed}
    for partition, (first, end) in ranges.items():
        position = positions[partition]
        if position < first:
            _tell_gap(partition, position, first)
        elif position > end:
            click.echo(f"warning: {partition} ends at offset {end}, before {position}", err=True)
        positions[partition] = min(max(position, first), end)
    return positions


def _places(
    cluster: ClusterClient, ranges: Mapping[TopicPartition, PartitionRange], start: Start
) -> Iterator[tuple[TopicPartition, int]]:
    found: Positions = {}
    if start.kind == "time":
        found = offsets_at(cluster, dict.fromkeys(ranges, start.value))
    for partition, (first, end) in ranges.items():
        if start.kind == "time":
            offset = found[partition]
            yield partition, end if offset < 0 else offset  # -1: nothing is so young
        elif start.kind == "offset":
            yield partition, start.value
        elif start.kind == "before-end":
            yield partition, max(first, end - start.value)
        else:
            yield partition, first if start.kind == "earliest" else end


def _tell_gap(partition: TopicPartition, wanted: int, first: int) -> None:
    click.echo(f"warning: {partition} begins at offset {first}: {wanted} is no longer there", err=True)


def _is_bar_seen(options: Mapping[str, Any]) -> bool:
    """Where the lines themselves fill the terminal, a bar would only be in their way."""
    wanted: bool | None = options["is_bar_wanted"]
    if options["is_following"] and options["most"] is None:
        return False  # no end
    return not sys.stdout.isatty() if wanted is None else wanted


def _line_maker(options: Mapping[str, Any]) -> Callable[[FetchedRecord], bytes]:
    fields, template = options["fields"], options["template"]
    if sum((options["as_json"], fields is not None, template is not None)) > 1:
        raise click.UsageError("--json, --fields and --format are three ways to print: choose one")
    if options["as_json"]:
        return json_line
    if template is not None:
        return template_line(template)
    names = [name.strip() for name in (fields or "value").split(",")]
    for name in names:
        if name not in PLAIN_FIELDS:
            known = ", ".join(PLAIN_FIELDS)
            raise click.BadParameter(f"no field {name!r}; there are {known}", param_hint="--fields")
    return plain_line(names, unescape(options["separator"]).encode())
