"""`mainstem log`: log files on disk, looked into and checked. No broker is needed; none should be writing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO

import click
import msgspec

from mainstem.cli.errors import ExitCode
from mainstem.cli.log_check import CheckReport, check_directory, log_bytes
from mainstem.cli.log_damage import Damage, damage_of
from mainstem.cli.log_decoders import RecordDecoder, decode_group_record, decode_transaction_record
from mainstem.cli.log_entries import DumpOptions, entries_of, entry_text
from mainstem.cli.log_files import LogFile, files_in, identify, partition_folders
from mainstem.cli.log_import import import_kafka
from mainstem.cli.log_list import COLUMNS, partition_rows
from mainstem.cli.progress import ProgressBar
from mainstem.cli.tables import counted, json_option, show_json, show_rows
from mainstem.log.errors import LogCorrupt

_encode = msgspec.json.Encoder().encode


@click.group()
def command() -> None:
    """Look into log files on disk and check them: Kafka's format, ours or written by Kafka itself."""


command.add_command(import_kafka)
# --- list


@command.command("list")
@click.argument("directory", type=click.Path(exists=True, file_okay=False))
@json_option
def list_partitions(directory: str, as_json: bool) -> None:
    """List the partitions of a log directory with their sizes, and how much of each is not compacted yet.

    DIRTY % is what compaction goes by: the closed segments that it has not seen, over all closed ones. A
    dash: the partition was never compacted, because its topic does not ask for it or its first time is
    still to come. What is in the active segment counts for neither.
    """
    rows = list(partition_rows(directory))
    if not rows:
        raise click.UsageError(
            f"{directory} holds no partitions: name a log directory, or a partition's folder such as orders-0"
        )
    show_rows(rows, COLUMNS, as_json=as_json)


# --- dump


@command.command("dump")
@click.argument("paths", metavar="FILE|DIRECTORY...", nargs=-1, required=True, type=click.Path(exists=True))
@click.option("--records", "with_records", is_flag=True, help="The records in each batch too.")
@click.option("--offsets", is_flag=True, help="Decode the records of __consumer_offsets.")
@click.option("--transactions", is_flag=True, help="Decode the records of __transaction_state.")
@click.option("--from-offset", type=click.IntRange(0), default=0, metavar="N", help="Skip what is below.")
@click.option("--max", "most", type=click.IntRange(1), metavar="N", help="Stop after N entries of a file.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object per entry and line.")
def dump(
    paths: Sequence[str],
    with_records: bool,
    offsets: bool,
    transactions: bool,
    from_offset: int,
    most: int | None,
    as_json: bool,
) -> None:
    """Print what log files hold: batches, index entries, producers, epochs, journal rounds.

    Of a directory all files are printed that have a known name. Batches come with their headers only;
    --records adds the records. A damaged file is printed up to the damage; then the exit code is 1.
    """
    if offsets and transactions:
        raise click.UsageError("--offsets and --transactions decode different topics: choose one")
    decoder: RecordDecoder | None = None
    if offsets or transactions:
        decoder = decode_group_record if offsets else decode_transaction_record
    options = DumpOptions(with_records or decoder is not None, decoder, from_offset)
    out = sys.stdout.buffer
    damaged = False
    for file in _files_of(paths):
        if not as_json:
            out.write(f"# {file.path} ({file.kind.value}, {os.path.getsize(file.path)} bytes)\n".encode())
        try:
            _write_entries(out, file, islice(entries_of(file, options), most), as_json)
        except (LogCorrupt, OSError) as error:
            if isinstance(error, BrokenPipeError):
                raise
            damaged = True
            out.flush()
            _tell_damage(damage_of(file.path, file.kind, str(error)))
    if damaged:
        sys.exit(ExitCode.FAILED)


def _write_entries(out: BinaryIO, file: LogFile, entries: Iterable[dict[str, Any]], as_json: bool) -> None:
    for entry in entries:
        if as_json:
            out.write(_encode({"file": file.path, **entry}) + b"\n")
        else:
            out.write(entry_text(entry).encode() + b"\n")


def _files_of(paths: Sequence[str]) -> Iterator[LogFile]:
    for path in paths:
        if os.path.isdir(path):
            found = files_in(path)
            folders = [folder for folder in partition_folders(path) if folder.path != path]
            if not found and not folders:
                raise click.UsageError(f"{path}: no file in it has the name of a log file")
            yield from found
            for folder in folders:
                yield from folder.files
            continue
        file = identify(path)
        if file is None:
            raise click.UsageError(
                f"{path}: a file is known by its name, such as 00000000000000000000.log, .index, .timeindex, "
                ".txnindex, .snapshot, leader-epoch-checkpoint or partition.metadata"
            )
        yield file


# --- verify


@command.command("verify")
@click.argument("directory", type=click.Path(exists=True, file_okay=False))
@click.option("--quick", is_flag=True, help="Lengths, checksums and offsets only: do not decode records.")
@json_option
def verify(directory: str, quick: bool, as_json: bool) -> None:
    """Check every batch and index entry of a partition's folder or of a whole log directory.

    Of each damaged file the first damage is told, with its position and what to do; then the exit code
    is 1. Nothing is changed. With the broker running, its last append may look torn.
    """
    total = log_bytes(directory)
    done = 0

    with ProgressBar(os.path.basename(os.path.abspath(directory)), total, is_bytes=True) as bar:

        def advance(count: int) -> None:
            nonlocal done
            done += count
            bar.show(done)

        report = check_directory(directory, is_deep=not quick, on_bytes=advance)
    if report.partition_count == 0:
        raise click.UsageError(
            f"{directory} holds no partitions: name a log directory, or a partition's folder such as orders-0"
        )
    if as_json:
        show_json(_document(directory, report, quick))
    else:
        for damage in report.damage:
            _tell_damage(damage)
        click.echo(_summary(report))
    if report.damage:
        sys.exit(ExitCode.FAILED)


def _tell_damage(damage: Damage) -> None:
    click.echo(f"damage: {damage}", err=True)
    click.echo(f"        {damage.cure}", err=True)


def _summary(report: CheckReport) -> str:
    found = f"{counted(len(report.damage), 'file')} damaged" if report.damage else "no damage"
    return (
        f"{counted(report.partition_count, 'partition')}, {counted(report.segment_count, 'segment')}, "
        f"{report.batch_count} batches, {counted(report.record_count, 'record')}, "
        f"{report.size_bytes} bytes: {found}"
    )


def _document(directory: str, report: CheckReport, quick: bool) -> dict[str, Any]:
    return {
        "directory": directory,
        "is_quick": quick,
        "partitions": report.partition_count,
        "segments": report.segment_count,
        "batches": report.batch_count,
        "records": report.record_count,
        "size_bytes": report.size_bytes,
        "reserved_bytes": report.reserved_bytes,
        "is_damaged": bool(report.damage),
        "damage": [damage.document() for damage in report.damage],
    }
