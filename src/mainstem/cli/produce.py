"""`mainstem produce`: lines become records, and every line is accounted for."""

from __future__ import annotations

import os
import stat
import sys
import time
from typing import Any, BinaryIO, Final

import click

from mainstem.cli.broker_link import bootstrap_option, open_cluster, parse_pairs
from mainstem.cli.errors import ExitCode
from mainstem.cli.progress import ProgressBar
from mainstem.cli.record_input import LineParser, json_parser, plain_parser, read_lines
from mainstem.cli.record_text import InvalidLine, unescape
from mainstem.cli.tables import Column, counted, show_json, show_rows
from mainstem.client.errors import Refused
from mainstem.client.producer import ACKS_ALL, Delivery, RecordProducer
from mainstem.model.compression import CODEC_NAMES, codec_id
from mainstem.model.ids import TopicPartition
from mainstem.model.records import NewRecord

_ACKS: Final = {"0": 0, "1": 1, "all": ACKS_ALL}
_MOST_ERRORS_TOLD: Final = 20
_PARTITION_COLUMNS = (
    Column("partition", "PARTITION", is_number=True),
    Column("records", "RECORDS", is_number=True),
    Column("first_offset", "FIRST OFFSET", is_number=True),
    Column("last_offset", "LAST OFFSET", is_number=True),
)


class LineRecord(NewRecord):
    """A record that knows the line it came from."""

    line_number: int


class Outcome:
    """What became of the lines: told on standard error as it turns out, summed up at the end."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.delivered_count = 0
        self.refused_count = 0
        self._by_partition: dict[TopicPartition, list[int]] = {}  # count, first offset, last offset

    def take_delivery(self, delivery: Delivery) -> None:
        if delivery.error is not None:
            for record in delivery.records:
                assert isinstance(record, LineRecord)
                self.refuse(record.line_number, delivery.error)
            return
        count = len(delivery.records)
        self.delivered_count += count
        last = delivery.base_offset + count - 1 if delivery.base_offset >= 0 else -1
        known = self._by_partition.setdefault(delivery.partition, [0, delivery.base_offset, last])
        known[0] += count
        known[2] = max(known[2], last)

    def refuse(self, line_number: int, error: Exception) -> None:
        self.refused_count += 1
        if self.refused_count <= _MOST_ERRORS_TOLD:
            click.echo(f"error: line {line_number}: {error}", err=True)

    def show(self, *, as_json: bool, is_confirmed: bool) -> None:
        if self.refused_count > _MOST_ERRORS_TOLD:
            click.echo(f"error: {self.refused_count - _MOST_ERRORS_TOLD} more lines were refused", err=True)
        rows = [
            {
                "partition": partition.partition,
                "records": count,
                "first_offset": None if first < 0 else first,
                "last_offset": None if last < 0 else last,
            }
            for partition, (count, first, last) in sorted(self._by_partition.items())
        ]
        if as_json:
            show_json(
                {
                    "topic": self.topic,
                    "delivered": self.delivered_count,
                    "refused": self.refused_count,
                    "is_confirmed": is_confirmed,
                    "partitions": rows,
                }
            )
            return
        verb = "delivered" if is_confirmed else "sent, without a confirmation,"
        refused = f"; {self.refused_count} refused" if self.refused_count else ""
        click.echo(f"{verb} {counted(self.delivered_count, 'record')} to {self.topic}{refused}")
        if rows and is_confirmed:
            show_rows(rows, _PARTITION_COLUMNS, as_json=False)


@click.command()
@click.argument("topic")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--json", "as_json", is_flag=True, help="Lines are JSON objects; the summary is JSON too.")
@click.option("--key-separator", metavar="TEXT", help="A line is key, this, value. \\t is a tab.")
@click.option("--header-separator", metavar="TEXT", help="A line begins with name=value,name=value, this.")
@click.option("--header", "headers", multiple=True, metavar="NAME=VALUE", help="A header for every record.")
@click.option("--null-marker", metavar="TEXT", help="A key or value that is exactly this is null.")
@click.option("--partition", type=click.IntRange(0), help="All to this one; else by key, or in turn.")
@click.option("--compression", type=click.Choice(CODEC_NAMES), default="none", show_default=True)
@click.option("--acks", type=click.Choice(list(_ACKS)), default="all", show_default=True)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0, min_open=True),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to try to deliver a record.",
)
@bootstrap_option
def command(topic: str, file: BinaryIO, **options: Any) -> None:
    """Write each line of FILE, or of standard input, as a record to TOPIC.

    With --json a line is an object with any of key, value, headers, partition, timestamp; bytes that are
    not UTF-8 are written {"base64": "..."}. What `mainstem consume --json` prints can be read back.

    With --acks all, the default, a line is written once whatever has to be sent again. Lines that are
    refused are named on standard error, the others are written all the same; then the exit code is 1.
    """
    _check_options(options)
    outcome = Outcome(topic)
    acks = _ACKS[options["acks"]]
    is_interrupted = False
    with open_cluster(options["bootstrap"]) as cluster:
        cluster.topic(topic)
        producer = RecordProducer(
            cluster,
            acks=acks,
            codec=codec_id(options["compression"]),
            delivery_timeout_s=options["timeout_s"],
            on_delivery=outcome.take_delivery,
        )
        try:
            try:
                _send_lines(producer, outcome, file, _parser_of(options), options["partition"])
            except KeyboardInterrupt:
                is_interrupted = True  # what was read is still delivered; a second one ends that too
            producer.flush()
        finally:
            producer.close()
    outcome.show(as_json=options["as_json"], is_confirmed=acks != 0)
    if is_interrupted:
        sys.exit(ExitCode.INTERRUPTED)
    if outcome.refused_count:
        sys.exit(ExitCode.FAILED)


def _send_lines(
    producer: RecordProducer, outcome: Outcome, file: BinaryIO, parse: LineParser, partition: int | None
) -> None:
    number = 0
    done_bytes = 0
    with ProgressBar(outcome.topic, _size_of(file), is_bytes=True) as bar:
        try:
            for line in read_lines(file.fileno()):
                if line is None:
                    producer.send_open()
                    producer.poll(0.0)
                    continue
                number += 1
                done_bytes += len(line) + 1
                try:
                    record, own_partition = parse(line, time.time_ns() // 1_000_000)
                    numbered = LineRecord(*record)
                    numbered.line_number = number
                    chosen = partition if own_partition is None else own_partition
                    producer.send(outcome.topic, numbered, partition=chosen)
                except (InvalidLine, Refused) as error:
                    outcome.refuse(number, error)
                bar.show(done_bytes)
        except InvalidLine as error:  # there is no telling where the next line begins
            outcome.refuse(number + 1, error)


def _size_of(file: BinaryIO) -> int:
    """0 where there is no end to be seen: a terminal, a pipe."""
    status = os.fstat(file.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _check_options(options: dict[str, Any]) -> None:
    for name in ("key_separator", "header_separator"):
        if options[name] == "":
            raise click.BadParameter("is empty", param_hint=f"--{name.replace('_', '-')}")
    if options["as_json"]:
        plain = ("key_separator", "header_separator", "null_marker")
        given = [f"--{name.replace('_', '-')}" for name in plain if options[name] is not None]
        if given:
            raise click.UsageError(f"{given[0]} is for plain lines, --json has fields for that")


def _parser_of(options: dict[str, Any]) -> LineParser:
    headers = [(name, value.encode()) for name, value in parse_pairs(options["headers"], "--header")]
    if options["as_json"]:
        return json_parser(headers=headers)
    return plain_parser(
        key_separator=_bytes_of(options["key_separator"]),
        header_separator=_bytes_of(options["header_separator"]),
        null_marker=_bytes_of(options["null_marker"]),
        headers=headers,
    )


def _bytes_of(text: str | None) -> bytes | None:
    return None if text is None else unescape(text).encode(errors="surrogateescape")
