"""`mainstem txn`: transactions, those that hang, and how to end them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import click

from mainstem.cli.broker_link import bootstrap_option, confirm, open_cluster
from mainstem.cli.moments import MomentType, time_text
from mainstem.cli.tables import Column, json_option, show_fields, show_json, show_rows
from mainstem.cli.txn_hanging import command as hanging
from mainstem.client import transactions as admin
from mainstem.client.hanging_transactions import OPEN_STATES

_LIST_COLUMNS = (
    Column("transactional_id", "TRANSACTIONAL ID"),
    Column("state", "STATE"),
    Column("producer_id", "PRODUCER", is_number=True),
    Column("open_since", "OPEN SINCE"),
    Column("prepared_number", "PREPARED UNDER", is_number=True),
)
_WRITER_COLUMNS = (
    Column("writer", "WRITER"),
    Column("decided_number", "DECIDED", is_number=True),
    Column("decided_at", "AT"),
    Column("committed", "COMMITTED", is_number=True),
    Column("prepared", "PREPARED", is_number=True),
)


@click.group()
def command() -> None:
    """List and describe transactions, and abort those that hang."""


command.add_command(hanging, "hanging")


@command.command("list")
@click.option("--state", "states", multiple=True, metavar="STATE", help="Ongoing, PrepareCommit, Empty, ...")
@click.option(
    "--open-since",
    "since_ms",
    type=MomentType(),
    metavar="TIME",
    help="Only what is open and began before 2026-11-19T08:30Z, or so long ago: 15m. Such hang, perhaps.",
)
@click.option("--pattern", metavar="REGEX", help="Only transactional ids that match as a whole.")
@click.option(
    "--writers", "of_writers", is_flag=True, help="Writers, their decisions, and what waits for one."
)
@bootstrap_option
@json_option
def list_transactions(
    states: Sequence[str],
    since_ms: int | None,
    pattern: str | None,
    of_writers: bool,
    bootstrap: str,
    as_json: bool,
) -> None:
    """List the transactional ids of all brokers."""
    if of_writers and (states or since_ms is not None or pattern):
        raise click.UsageError("--writers goes with no other choice")
    with open_cluster(bootstrap) as cluster:
        writers = admin.list_writers(cluster)
        if of_writers:
            show_rows([_writer_row(each) for each in writers], _WRITER_COLUMNS, as_json=as_json)
            return
        longer_than_ms = -1
        if since_ms is not None:
            longer_than_ms = max(0, time.time_ns() // 1_000_000 - since_ms)
            states = states or OPEN_STATES
        found = admin.list_transactions(
            cluster, states=states, longer_than_ms=longer_than_ms, pattern=pattern
        )
        numbers = {each.transactional_id: each.number for writer in writers for each in writer.prepared}
        rows = []
        for each in found:
            start_ms = -1
            if each.state in OPEN_STATES:
                start_ms = admin.describe_transaction(cluster, each.transactional_id).start_time_ms
            rows.append(
                {
                    "transactional_id": each.transactional_id,
                    "state": each.state,
                    "producer_id": each.producer_id,
                    "open_since": _open_since(each.state, start_ms),
                    "prepared_number": numbers.get(each.transactional_id),
                    "coordinator": each.coordinator,
                }
            )
    show_rows(rows, _LIST_COLUMNS, as_json=as_json)


@command.command("describe")
@click.argument("transactional_id")
@bootstrap_option
@json_option
def describe(transactional_id: str, bootstrap: str, as_json: bool) -> None:
    """Show the state of a transactional id, and the partitions of its open transaction."""
    with open_cluster(bootstrap) as cluster:
        found = admin.describe_transaction(cluster, transactional_id)
        prepared = _preparation(cluster, transactional_id)
    document = {
        "transactional_id": found.transactional_id,
        "state": found.state,
        "producer_id": found.producer_id,
        "producer_epoch": found.producer_epoch,
        "timeout_ms": found.timeout_ms,
        "open_since": _open_since(found.state, found.start_time_ms),
        "prepared_number": None if prepared is None else prepared.number,
        "prepared_since": None if prepared is None else time_text(prepared.since_time_ms),
        "coordinator": found.coordinator,
        "partitions": [str(each) for each in sorted(found.partitions)],
    }
    show_fields(document, as_json=as_json)


@command.command("abort")
@click.argument("transactional_id", required=False)
@click.option("--writer", metavar="WRITER", help="Abort what this writer has prepared, all of it.")
@click.option("--number", type=click.IntRange(0), metavar="N", help="Up to this number. Needs --writer.")
@click.option("--yes", "is_agreed", is_flag=True, help="Do not ask.")
@bootstrap_option
@json_option
def abort(
    transactional_id: str | None,
    writer: str | None,
    number: int | None,
    is_agreed: bool,
    bootstrap: str,
    as_json: bool,
) -> None:
    """Abort the open transaction of TRANSACTIONAL_ID; its producer, if it lives, is refused from then on.

    What is prepared is aborted for a whole writer: --writer and --number make the decision that its own
    driver did not make, and after that it cannot.
    """
    if (transactional_id is None) is (writer is None) or (writer is None) is not (number is None):
        raise click.UsageError("name a transactional id, or --writer and --number")
    with open_cluster(bootstrap) as cluster:
        if writer is not None and number is not None:
            confirm(f"Abort all that writer {writer} prepared up to {number}?", is_agreed=is_agreed)
            decision = admin.decide(cluster, writer, number, [])
            _show_decision(writer, number, decision, as_json=as_json)
            return
        assert transactional_id is not None
        prepared = _preparation(cluster, transactional_id)
        if prepared is not None:
            raise click.ClickException(
                f"{transactional_id} is prepared under {prepared.number}: "
                f"`mainstem txn abort --writer ... --number {prepared.number}` aborts it and all others of "
                "its writer"
            )
        confirm(f"Abort the open transaction of {transactional_id}?", is_agreed=is_agreed)
        before = admin.abort_transaction(cluster, transactional_id)
    if as_json:
        show_json(
            {"aborted": transactional_id, "partitions": [str(each) for each in sorted(before.partitions)]}
        )
    else:
        click.echo(f"aborted {transactional_id}")


def _open_since(state: str, start_ms: int) -> str | None:
    """Brokers keep the beginning of the last transaction when it is complete; nothing is open then."""
    return time_text(start_ms) if state in OPEN_STATES and start_ms >= 0 else None


def _preparation(cluster: Any, transactional_id: str) -> admin.PreparedView | None:
    end = transactional_id.find("}")
    if not transactional_id.startswith("{") or end < 2:
        return None
    writer = admin.describe_writer(cluster, transactional_id[1:end])
    waiting = [each for each in writer.prepared if each.transactional_id == transactional_id]
    return waiting[0] if waiting else None


def _show_decision(writer: str, number: int, decision: admin.Decision, *, as_json: bool) -> None:
    is_ours = decision.number == number and not decision.committed_ids
    document = {
        "writer": writer,
        "decided_number": decision.number,
        "decided_at": time_text(decision.decided_time_ms),
        "committed": sorted(decision.committed_ids),
    }
    if as_json:
        show_json(document)
    elif is_ours:
        click.echo(f"aborted what writer {writer} prepared up to {number}")
    else:
        click.echo(f"nothing changed: writer {writer} had decided on {decision.number} before")


def _writer_row(writer: admin.WriterView) -> dict[str, Any]:
    decision = writer.decision
    return {
        "writer": writer.writer,
        "decided_number": None if decision is None else decision.number,
        "decided_at": None if decision is None else time_text(decision.decided_time_ms),
        "committed": None if decision is None else len(decision.committed_ids),
        "prepared": len(writer.prepared),
    }
