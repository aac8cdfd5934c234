"""`mainstem group`: consumer groups, who is in them, how far they are, and moving them elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from mainstem.cli.broker_link import bootstrap_option, confirm, open_cluster
from mainstem.cli.errors import ExitCode
from mainstem.cli.group_progress import GroupProgress, progress_of
from mainstem.cli.moments import MomentType
from mainstem.cli.offset_plan import OffsetRule, parse_topics, plan_offsets, refuse_active
from mainstem.cli.tables import Column, counted, json_option, show_fields, show_json, show_rows
from mainstem.client import groups as admin
from mainstem.client.errors import Refused

if TYPE_CHECKING:
    from mainstem.client.cluster import ClusterClient

_LIST_COLUMNS = (
    Column("group", "GROUP"),
    Column("state", "STATE"),
    Column("protocol_type", "PROTOCOL"),
)
_PARTITION_COLUMNS = (
    Column("topic", "TOPIC"),
    Column("partition", "PARTITION", is_number=True),
    Column("committed_offset", "COMMITTED", is_number=True),
    Column("end_offset", "END", is_number=True),
    Column("lag", "LAG", is_number=True),
    Column("client_id", "CLIENT"),
    Column("host", "HOST"),
    Column("member_id", "MEMBER"),
)
_MEMBER_COLUMNS = (
    Column("member_id", "MEMBER"),
    Column("instance_id", "INSTANCE"),
    Column("client_id", "CLIENT"),
    Column("host", "HOST"),
    Column("assigned", "PARTITIONS"),
)
_PLAN_COLUMNS = (
    Column("topic", "TOPIC"),
    Column("partition", "PARTITION", is_number=True),
    Column("committed_offset", "COMMITTED", is_number=True),
    Column("new_offset", "NEW", is_number=True),
)


@click.group()
def command() -> None:
    """List and describe consumer groups, move and delete their offsets."""


@command.command("list")
@click.option("--state", metavar="STATE", help="Only groups in this state: Stable, Empty, ...")
@bootstrap_option
@json_option
def list_groups(state: str | None, bootstrap: str, as_json: bool) -> None:
    """List the groups of all brokers."""
    with open_cluster(bootstrap) as cluster:
        found = admin.list_groups(cluster)
    rows = [
        {"group": group.group_id, "state": group.state or None, "protocol_type": group.protocol_type or None}
        for group in found
        if state is None or group.state.lower() == state.lower()
    ]
    show_rows(rows, _LIST_COLUMNS, as_json=as_json)


@command.command("describe")
@click.argument("names", metavar="[GROUP]...", nargs=-1)
@bootstrap_option
@json_option
def describe_groups(names: Sequence[str], bootstrap: str, as_json: bool) -> None:
    """Show state, members, committed offsets and lag of the groups, or of all groups."""
    with open_cluster(bootstrap) as cluster:
        wanted = list(dict.fromkeys(names)) or [group.group_id for group in admin.list_groups(cluster)]
        documents = [_document(progress_of(cluster, name)) for name in wanted]
    if as_json:
        show_json(documents)
        return
    for index, document in enumerate(documents):
        if index:
            click.echo()
        _show_group(document)


@command.command("reset-offsets")
@click.argument("group")
@click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="TOPIC[:N,...]",
    help="Of this topic, or only of these partitions of it. Default: all that the group has committed.",
)
@click.option("--to-earliest", is_flag=True, help="To the oldest record there is.")
@click.option("--to-latest", is_flag=True, help="To the end: only what comes from now on.")
@click.option("--to-offset", type=click.IntRange(0), metavar="N")
@click.option(
    "--to-timestamp",
    "to_timestamp_ms",
    type=MomentType(),
    metavar="TIME",
    help="To the first record at or after 2026-11-19T08:30Z, or so long ago: 15m.",
)
@click.option(
    "--shift-by", type=int, metavar="N", help="From the committed offset forward, or back if negative."
)
@click.option(
    "--execute", "--yes", "is_executed", is_flag=True, help="Do it; without this the plan is shown."
)
@bootstrap_option
@json_option
def reset_offsets(
    group: str, topics: Sequence[str], is_executed: bool, bootstrap: str, as_json: bool, **choices: Any
) -> None:
    """Commit other offsets for GROUP, which must have no members.

    Without --execute nothing is changed: the plan is shown. Offsets outside a partition are moved to its
    nearest end.
    """
    rule = OffsetRule.chosen(**choices)
    with open_cluster(bootstrap) as cluster:
        refuse_active(cluster, group)
        plan = plan_offsets(cluster, group, rule, parse_topics(topics))
        if is_executed:
            admin.commit_offsets(cluster, group, {step.partition: step.new_offset for step in plan})
    rows = [
        {
            "topic": step.partition.topic,
            "partition": step.partition.partition,
            "committed_offset": step.committed_offset,
            "new_offset": step.new_offset,
        }
        for step in plan
    ]
    if as_json:
        show_json({"group": group, "is_executed": is_executed, "partitions": rows})
        return
    show_rows(rows, _PLAN_COLUMNS, as_json=False)
    if is_executed:
        click.echo(f"committed {counted(len(plan), 'offset')} for group {group}")
    else:
        click.echo("This is the plan and nothing was changed: add --execute to commit it.", err=True)


@command.command("delete")
@click.argument("names", metavar="GROUP...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@bootstrap_option
def delete_groups(names: Sequence[str], yes: bool, bootstrap: str) -> None:
    """Delete groups with their committed offsets. They must have no members."""
    wanted = list(dict.fromkeys(names))
    with open_cluster(bootstrap) as cluster:
        confirm(f"Delete {', '.join(wanted)} with all committed offsets?", is_agreed=yes)
        failed = [name for name in wanted if not _delete_group(cluster, name)]
    if failed:
        sys.exit(ExitCode.FAILED)


def _delete_group(cluster: ClusterClient, name: str) -> bool:
    try:
        admin.delete_group(cluster, name)
    except Refused as error:
        click.echo(f"error: {error}", err=True)
        return False
    click.echo(f"deleted group {name}")
    return True


def _document(progress: GroupProgress) -> dict[str, Any]:
    view = progress.view
    return {
        "group": view.group_id,
        "state": view.state,
        "protocol_type": view.protocol_type,
        "assignor": view.assignor,
        "coordinator": view.coordinator,
        "lag": progress.lag,
        "members": [
            {
                "member_id": member.member_id,
                "instance_id": member.instance_id,
                "client_id": member.client_id,
                "host": member.host,
                "partitions": [
                    {"topic": partition.topic, "partition": partition.partition}
                    for partition in sorted(member.partitions)
                ],
            }
            for member in view.members
        ],
        "partitions": [
            {
                "topic": row.partition.topic,
                "partition": row.partition.partition,
                "committed_offset": row.committed_offset,
                "metadata": row.metadata,
                "start_offset": row.start_offset,
                "end_offset": row.end_offset,
                "lag": row.lag,
                "member_id": row.member.member_id if row.member else None,
                "client_id": row.member.client_id if row.member else None,
                "host": row.member.host if row.member else None,
            }
            for row in progress.partitions
        ],
    }


def _show_group(document: dict[str, Any]) -> None:
    show_fields(
        {
            "Group": document["group"],
            "State": document["state"],
            "Protocol": document["protocol_type"],
            "Assignor": document["assignor"],
            "Coordinator": document["coordinator"],
            "Members": len(document["members"]),
            "Lag": document["lag"],
        },
        as_json=False,
    )
    if document["partitions"]:
        click.echo()
        show_rows(document["partitions"], _PARTITION_COLUMNS, as_json=False)
    if document["members"]:
        click.echo()
        rows = [
            {
                **member,
                "assigned": [f"{place['topic']}-{place['partition']}" for place in member["partitions"]],
            }
            for member in document["members"]
        ]
        show_rows(rows, _MEMBER_COLUMNS, as_json=False)
