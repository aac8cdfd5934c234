"""`mainstem topic`: topics of a running cluster."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from mainstem.cli.broker_link import bootstrap_option, confirm, open_cluster, parse_pairs
from mainstem.cli.tables import Column, counted, json_option, show_fields, show_json, show_rows
from mainstem.client import topics as admin
from mainstem.client.errors import Refused
from mainstem.client.log_dirs import replica_sizes
from mainstem.client.offsets import partition_ranges
from mainstem.model.ids import TopicPartition, topic_id_text

if TYPE_CHECKING:
    from mainstem.client.cluster import ClusterClient, TopicView

_LIST_COLUMNS = (
    Column("name", "TOPIC"),
    Column("partitions", "PARTITIONS", is_number=True),
    Column("replication_factor", "REPLICAS", is_number=True),
    Column("is_internal", "INTERNAL"),
)
_PARTITION_COLUMNS = (
    Column("partition", "PARTITION", is_number=True),
    Column("leader", "LEADER", is_number=True),
    Column("leader_epoch", "EPOCH", is_number=True),
    Column("replicas", "REPLICAS"),
    Column("isr", "IN SYNC"),
    Column("start_offset", "START", is_number=True),
    Column("end_offset", "END", is_number=True),
    Column("size_bytes", "BYTES", is_number=True),
)


@click.group()
def command() -> None:
    """Create, list, describe, alter and delete topics."""


@command.command("create")
@click.argument("name")
@click.option("--partitions", type=click.IntRange(1), help="How many; else the broker's num.partitions.")
@click.option(
    "--replication-factor", type=click.IntRange(1), help="How many; else default.replication.factor."
)
@click.option("--config", "configs", multiple=True, metavar="NAME=VALUE", help="An option of the topic.")
@bootstrap_option
@json_option
def create_topic(
    name: str,
    partitions: int | None,
    replication_factor: int | None,
    configs: Sequence[str],
    bootstrap: str,
    as_json: bool,
) -> None:
    """Create the topic NAME. `mainstem config list --scope topic` lists the options."""
    options = dict(parse_pairs(configs, "--config"))
    with open_cluster(bootstrap) as cluster:
        created = admin.create_topic(
            cluster,
            name,
            partition_count=partitions or -1,
            replication_factor=replication_factor or -1,
            config=options,
        )
    if as_json:
        show_json(
            {
                "name": created.name,
                "topic_id": topic_id_text(created.topic_id),
                "partitions": created.partition_count,
                "replication_factor": created.replication_factor,
                "config": options,
            }
        )
    else:
        count = created.partition_count
        click.echo(f"created topic {name}" + (f" with {counted(count, 'partition')}" if count > 0 else ""))


@command.command("list")
@click.option("--internal", is_flag=True, help="Also the topics that brokers keep for themselves.")
@bootstrap_option
@json_option
def list_topics(internal: bool, bootstrap: str, as_json: bool) -> None:
    """List the topics."""
    with open_cluster(bootstrap) as cluster:
        found = [topic for topic in admin.list_topics(cluster) if internal or not topic.is_internal]
    rows = [
        {
            "name": topic.name,
            "topic_id": topic_id_text(topic.topic_id),
            "partitions": len(topic.partitions),
            "replication_factor": max((len(part.replicas) for part in topic.partitions), default=0),
            "is_internal": topic.is_internal,
        }
        for topic in found
    ]
    show_rows(rows, _LIST_COLUMNS if internal else _LIST_COLUMNS[:-1], as_json=as_json)


@command.command("describe")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@bootstrap_option
@json_option
def describe_topics(names: Sequence[str], bootstrap: str, as_json: bool) -> None:
    """Show partitions, leaders, offsets, sizes and options of the topics NAME, or of all."""
    with open_cluster(bootstrap) as cluster:
        if names:
            found = [cluster.topic(name) for name in dict.fromkeys(names)]
        else:
            found = [topic for topic in admin.list_topics(cluster) if not topic.is_internal]
        documents = _documents(cluster, found)
    if as_json:
        show_json(documents)
        return
    for index, document in enumerate(documents):
        if index:
            click.echo()
        _show_topic(document)


@command.command("alter")
@click.argument("name")
@click.option("--partitions", type=click.IntRange(1), help="The new number; it can only grow.")
@click.option("--config", "configs", multiple=True, metavar="NAME=VALUE", help="Set an option.")
@click.option("--delete-config", "deleted", multiple=True, metavar="NAME", help="Back to the default.")
@bootstrap_option
def alter_topic(
    name: str, partitions: int | None, configs: Sequence[str], deleted: Sequence[str], bootstrap: str
) -> None:
    """Change partitions and options of the topic NAME."""
    options = dict(parse_pairs(configs, "--config"))
    if partitions is None and not options and not deleted:
        raise click.UsageError("nothing to change: give --partitions, --config or --delete-config")
    both = sorted(options.keys() & set(deleted))
    if both:
        raise click.UsageError(f"{both[0]} is both set and deleted")
    with open_cluster(bootstrap) as cluster:
        cluster.topic(name)
        if options or deleted:
            admin.alter_topic_options(cluster, name, values=options, deleted=deleted)
            changed = [
                *(f"{key}={value}" for key, value in options.items()),
                *(f"{key}: default" for key in deleted),
            ]
            click.echo(f"changed topic {name}: {', '.join(changed)}")
        if partitions is not None:
            admin.grow_topic(cluster, name, partitions)
            click.echo(f"topic {name} has {counted(partitions, 'partition')} now")


@command.command("delete")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@bootstrap_option
def delete_topics(names: Sequence[str], yes: bool, bootstrap: str) -> None:
    """Delete the topics NAME with all their records."""
    with open_cluster(bootstrap) as cluster:
        wanted = list(dict.fromkeys(names))
        for name in wanted:
            cluster.topic(name)
        confirm(f"Delete {', '.join(wanted)} with all records?", is_agreed=yes)
        outcomes = admin.delete_topics(cluster, wanted)
    errors = [error for error in outcomes.values() if isinstance(error, Refused)]
    for name in wanted:
        if name in outcomes and outcomes[name] is None:
            click.echo(f"deleted topic {name}")
    for error in errors:
        click.echo(f"error: {error}", err=True)
    if errors:
        sys.exit(1)


def _documents(cluster: ClusterClient, found: Sequence[TopicView]) -> list[dict[str, Any]]:
    names = [topic.name for topic in found]
    options = admin.topic_options(cluster, names)
    led = [
        TopicPartition(topic.name, part.index)
        for topic in found
        for part in topic.partitions
        if part.leader >= 0
    ]
    ranges = partition_ranges(cluster, led)
    sizes = replica_sizes(cluster, names) if names else {}
    documents = []
    for topic in found:
        partitions = []
        for part in topic.partitions:
            place = TopicPartition(topic.name, part.index)
            known = ranges.get(place)
            partitions.append(
                {
                    "partition": part.index,
                    "leader": part.leader if part.leader >= 0 else None,
                    "leader_epoch": part.leader_epoch,
                    "replicas": list(part.replicas),
                    "isr": list(part.isr),
                    "start_offset": known.start if known else None,
                    "end_offset": known.end if known else None,
                    "size_bytes": next(
                        (size.size_bytes for size in sizes.get(place, ()) if size.node_id == part.leader),
                        None,
                    ),
                }
            )
        documents.append(
            {
                "name": topic.name,
                "topic_id": topic_id_text(topic.topic_id),
                "is_internal": topic.is_internal,
                "config": {
                    option.name: option.value
                    for option in options.get(topic.name, ())
                    if option.is_set_on_topic
                },
                "partitions": partitions,
            }
        )
    return documents


def _show_topic(document: dict[str, Any]) -> None:
    show_fields(
        {
            "Topic": document["name"],
            "Id": document["topic_id"],
            "Internal": True if document["is_internal"] else None,
            "Options": ", ".join(f"{name}={value}" for name, value in document["config"].items()),
        },
        as_json=False,
    )
    show_rows(document["partitions"], _PARTITION_COLUMNS, as_json=False)
