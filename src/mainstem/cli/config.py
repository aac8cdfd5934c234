"""`mainstem config`: what can be set, and what it means."""

from __future__ import annotations

from typing import Any

import click

from mainstem.cli.tables import Column, json_option, show_fields, show_rows
from mainstem.config.catalog import OPTIONS, find_option, summary_of

_COLUMNS = (
    Column("name", "NAME"),
    Column("type", "TYPE"),
    Column("default_in_words", "DEFAULT"),
    Column("scope", "SCOPE"),
    Column("changes_at_run_time", "AT RUN TIME"),
)


@click.group()
def command() -> None:
    """Explain the options of broker and topics."""


@command.command("list")
@click.option("--scope", type=click.Choice(["broker", "topic"]), help="Only the options of one of them.")
@json_option
def list_options(scope: str | None, as_json: bool) -> None:
    """List every option with its default."""
    rows = [
        summary_of(option)
        for option in OPTIONS.values()
        if scope is None or option.scope.value in (scope, "both")
    ]
    show_rows(rows, _COLUMNS, as_json=as_json)


@command.command("explain")
@click.argument("name")
@json_option
def explain(name: str, as_json: bool) -> None:
    """Tell what an option does, its default, its limits and the ways to set it.

    NAME is the option's name, its flag or its environment variable.
    """
    summary: dict[str, Any] = summary_of(find_option(name))
    if as_json:
        show_fields(summary, as_json=True)
        return
    click.echo(
        f"{summary.pop('name')}\n  {click.wrap_text(summary.pop('doc'), 96, subsequent_indent='  ')}\n"
    )
    show_fields(
        {"  " + key.replace("_", " "): value for key, value in summary.items() if value != []}, as_json=False
    )
