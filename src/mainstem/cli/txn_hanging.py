"""`mainstem txn hanging`: what is open in partitions and known to no coordinator."""

from __future__ import annotations

from collections.abc import Sequence

import click

from mainstem.cli.broker_link import bootstrap_option, confirm, open_cluster
from mainstem.cli.moments import MomentType, time_text
from mainstem.cli.tables import Column, counted, json_option, show_rows
from mainstem.client import hanging_transactions as admin

_COLUMNS = (
    Column("partition", "PARTITION"),
    Column("producer_id", "PRODUCER", is_number=True),
    Column("producer_epoch", "EPOCH", is_number=True),
    Column("first_offset", "FROM OFFSET", is_number=True),
    Column("last_written", "LAST WRITTEN"),
)


@click.command()
@click.option("--topic", "topics", multiple=True, metavar="TOPIC", help="Look here only. May be repeated.")
@click.option(
    "--silent-since",
    "silent_since_ms",
    type=MomentType(),
    default="15m",
    show_default=True,
    metavar="TIME",
    help="Only those that were last written to before then.",
)
@click.option("--abort", "is_to_abort", is_flag=True, help="End them: what they wrote is never read.")
@click.option("--yes", "is_agreed", is_flag=True, help="Do not ask.")
@bootstrap_option
@json_option
def command(
    topics: Sequence[str],
    silent_since_ms: int,
    is_to_abort: bool,
    is_agreed: bool,
    bootstrap: str,
    as_json: bool,
) -> None:
    """List transactions that are open in partitions and that no coordinator will ever end.

    Readers of committed data wait in front of them. What a coordinator knows is not among them, however
    long it is open: see `mainstem txn list --open-since` for that. Where the broker keeps access rules,
    look as who may describe all transactional ids: those that one may not see seem to be known to nobody.
    """
    with open_cluster(bootstrap) as cluster:
        hanging = admin.find_hanging(cluster, topics or None)
        found = [each for each in hanging if each.last_time_ms <= silent_since_ms]
        rows = [
            {
                "partition": str(each.partition),
                "producer_id": each.producer_id,
                "producer_epoch": each.producer_epoch,
                "first_offset": each.first_offset,
                "last_written": time_text(each.last_time_ms) if each.last_time_ms >= 0 else None,
            }
            for each in found
        ]
        show_rows(rows, _COLUMNS, as_json=as_json)
        if not is_to_abort or not found:
            return
        confirm(f"Abort {counted(len(found), 'transaction')}?", is_agreed=is_agreed)
        for each in found:
            admin.abort_hanging(cluster, each)
    click.echo(f"aborted {counted(len(found), 'transaction')}", err=True)
