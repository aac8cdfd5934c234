"""`mainstem quota`: how much users, client ids and addresses may take."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeVar

import click

from mainstem.cli.broker_link import bootstrap_option, open_cluster, parse_pairs
from mainstem.cli.errors import ExitCode
from mainstem.cli.tables import Column, json_option, show_json, show_rows
from mainstem.client import quotas as admin
from mainstem.client.quotas import EntityNames, QuotaView

_F = TypeVar("_F")
_COLUMNS = (
    Column("entity_text", "FOR"),
    Column("limit", "LIMIT"),
    Column("value", "VALUE", is_number=True),
)
_SIZES = {"kB": 1000, "MB": 1000**2, "GB": 1000**3, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@click.group()
def command() -> None:
    """Set, list and remove quotas of users, client ids and addresses.

    \b
    producer_byte_rate         bytes a second into the broker
    consumer_byte_rate         bytes a second out of it
    request_percentage         time of the broker's loop, in percent of one core
    controller_mutation_rate   partitions a second that are created or deleted
    connection_creation_rate   new connections a second from one address
    """


def _entity_options(command: _F) -> _F:
    options: tuple[Any, ...] = (
        click.option("--ip", metavar="ADDRESS", help="Connections from this address."),
        click.option("--client-id", metavar="ID", help="Clients that call themselves so."),
        click.option("--user", metavar="NAME", help="Who is logged in as NAME; ANONYMOUS: without log-in."),
        click.option(
            "--default",
            "defaults",
            multiple=True,
            type=click.Choice(["user", "client-id", "ip"]),
            help="Everybody of that kind who has no quota of their own.",
        ),
    )
    decorated: Any = command
    for option in options:
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


@command.command("set")
@click.argument("limits", metavar="LIMIT=VALUE...", nargs=-1, required=True)
@_entity_options
@bootstrap_option
def set_quotas(limits: Sequence[str], bootstrap: str, **names: Any) -> None:
    """Set limits of one entity, and leave its others as they are. A rate of bytes may have a unit: 10MiB."""
    entity = _entity(**names)
    values = {name: _value(name, text) for name, text in parse_pairs(limits, "LIMIT=VALUE")}
    with open_cluster(bootstrap) as cluster:
        admin.alter_quotas(cluster, entity, values)
    click.echo(f"set {', '.join(values)} for {_text(entity)}")


@command.command("list")
@bootstrap_option
@json_option
def list_quotas(bootstrap: str, as_json: bool) -> None:
    """List all quotas."""
    with open_cluster(bootstrap) as cluster:
        _show(admin.list_quotas(cluster), as_json=as_json)


@command.command("describe")
@_entity_options
@bootstrap_option
@json_option
def describe_quotas(bootstrap: str, as_json: bool, **names: Any) -> None:
    """Show the quotas of one entity. Exit code 1 where it has none of its own."""
    entity = _entity(**names)
    with open_cluster(bootstrap) as cluster:
        found = admin.describe_quotas(cluster, entity)
    if found is None:
        click.echo(f"error: no quota is set for {_text(entity)}; `mainstem quota list` shows all", err=True)
        sys.exit(ExitCode.FAILED)
    _show([found], as_json=as_json)


@command.command("remove")
@click.argument("limits", metavar="[LIMIT]...", nargs=-1)
@_entity_options
@bootstrap_option
def remove_quotas(limits: Sequence[str], bootstrap: str, **names: Any) -> None:
    """Remove these limits of one entity, or all that it has."""
    entity = _entity(**names)
    with open_cluster(bootstrap) as cluster:
        found = admin.describe_quotas(cluster, entity)
        present = {} if found is None else found.limits
        wanted = list(dict.fromkeys(limits)) or list(present)
        missing = [name for name in wanted if name not in present]
        if missing or not wanted:
            what = ", ".join(missing) or "quota of its own"
            click.echo(f"error: {_text(entity)} has no {what}", err=True)
            sys.exit(ExitCode.FAILED)
        admin.alter_quotas(cluster, entity, dict.fromkeys(wanted))
    click.echo(f"removed {', '.join(wanted)} of {_text(entity)}")


def _entity(
    user: str | None, client_id: str | None, ip: str | None, defaults: Sequence[str]
) -> dict[str, str | None]:
    named = {"user": user, "client-id": client_id, "ip": ip}
    entity: dict[str, str | None] = {kind: name for kind, name in named.items() if name is not None}
    for kind in defaults:
        if kind in entity:
            raise click.UsageError(f"--{kind} names one, --default {kind} means all others: take one of them")
        entity[kind] = None
    if not entity:
        raise click.UsageError("say whom: --user, --client-id, --ip or --default")
    return entity


def _value(name: str, text: str) -> float:
    factor = 1
    for unit, size in _SIZES.items():
        if name.endswith("_byte_rate") and text.endswith(unit):
            text, factor = text.removesuffix(unit).strip(), size
    try:
        return float(text) * factor
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a number", param_hint=name) from None


def _text(entity: EntityNames) -> str:
    return ", ".join(f"{kind} {'<default>' if name is None else name}" for kind, name in entity.items())


def _show(views: Sequence[QuotaView], *, as_json: bool) -> None:
    ordered = sorted(views, key=lambda view: _text(view.entity))
    if as_json:
        show_json([{"entity": view.entity, "limits": view.limits} for view in ordered])
        return
    rows = [
        {"entity_text": _text(view.entity), "limit": name, "value": f"{value:.15g}"}
        for view in ordered
        for name, value in sorted(view.limits.items())
    ]
    show_rows(rows, _COLUMNS, as_json=False)
