"""`mainstem log import`: makes the metadata with which Mainstem serves a Kafka broker's log directories."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from mainstem.cli.tables import counted, json_option, show_json

if TYPE_CHECKING:
    from mainstem.cluster.kraft.adoption import Adoption


@click.command("import")
@click.argument("directories", metavar="DIRECTORY...", nargs=-1, required=True, type=click.Path(exists=True))
@click.option(
    "--data-dir", required=True, metavar="DIRECTORY", help="Where Mainstem is to keep its own files."
)
@click.option(
    "--only-whole-topics", is_flag=True, help="Leave out topics of which partitions are on other brokers."
)
@json_option
def import_kafka(directories: Sequence[str], data_dir: str, only_whole_topics: bool, as_json: bool) -> None:
    """Take over the log directories of a Kafka broker (KRaft), which must be stopped.

    Name all of its log.dirs. Nothing in them is changed: what Kafka knew of topics, options, quotas and
    access rules is written to a new metadata file in --data-dir, and the command to start Mainstem on the
    directories is shown.
    """
    paths = [os.path.abspath(directory) for directory in directories]
    adoption = asyncio.run(_adopt(paths, os.path.abspath(data_dir), only_whole_topics))
    command = _start_command(adoption, os.path.abspath(data_dir))
    if as_json:
        show_json(_document(adoption, command))
        return
    for text in adoption.left_out:
        click.echo(f"left out: {text}", err=True)
    click.echo(
        f"took over {counted(len(adoption.topics), 'topic')} with "
        f"{counted(adoption.partition_count, 'partition')} of broker {adoption.node_id} in cluster "
        f"{adoption.cluster_id}"
    )
    click.echo("What Kafka's server.properties said is not in its metadata: give it to Mainstem as well.")
    click.echo(f"Start with: {command}")


async def _adopt(paths: Sequence[str], data_dir: str, only_whole_topics: bool) -> Adoption:
    from mainstem.cluster.errors import CannotAdopt
    from mainstem.cluster.kraft.adoption import plan_adoption, write_adoption
    from mainstem.cluster.sqlite_store import open_sqlite_store
    from mainstem.config.broker import BrokerConfig
    from mainstem.log.log_directory import LOCK
    from mainstem.ports.clock import LoopClock
    from mainstem.ports.disk import RealDisk

    disk = RealDisk()
    os.makedirs(data_dir, exist_ok=True)
    with ExitStack() as held:
        for path in (*paths, data_dir):
            try:
                held.callback(disk.lock(f"{path}/{LOCK}").release)
            except BlockingIOError:
                raise CannotAdopt(f"{path} is in use by a broker", "stop that broker first") from None
        adoption = plan_adoption(disk, paths, BrokerConfig.default(), only_whole_topics=only_whole_topics)
        store = await open_sqlite_store(f"{data_dir}/metadata.db", LoopClock(asyncio.get_running_loop()))
        try:
            await write_adoption(store, adoption)
        finally:
            await store.close()
    return adoption


def _start_command(adoption: Adoption, data_dir: str) -> str:
    flags: Mapping[str, str] = {
        "--data-dir": data_dir,
        "--log-dirs": ",".join(adoption.directories),
        "--node-id": str(adoption.node_id),
    }
    return "mainstem start " + " ".join(f"{flag} {value}" for flag, value in flags.items())


def _document(adoption: Adoption, command: str) -> Mapping[str, object]:
    return {
        "cluster_id": adoption.cluster_id,
        "node_id": adoption.node_id,
        "topics": [
            {"name": topic.name, "partitions": len(topic.partitions), "config": dict(topic.config)}
            for topic in adoption.topics
        ],
        "quotas": len(adoption.quotas),
        "access_rules": sum(len(rules) for rules in adoption.rules.values()),
        "users": sorted(adoption.users),
        "left_out": adoption.left_out,
        "start": command,
    }
