"""`mainstem config`: what can be set, and what it means."""

from __future__ import annotations

from typing import Any

import click

from mainstem.cli.tables import Column, json_option, show_fields, show_rows
from mainstem.config.catalog import OPTIONS, find_option, summary_of, toml_line
from mainstem.config.option import Option

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
    option = find_option(name)
    if as_json:
        show_fields(summary_of(option), as_json=True)
        return
    click.echo(f"{option.name}\n")
    click.echo(click.wrap_text(option.doc, 96, initial_indent="  ", subsequent_indent="  ") + "\n")
    show_fields(_ways_and_limits(option), as_json=False)


def _ways_and_limits(option: Option) -> dict[str, Any]:
    summary = summary_of(option)
    fields = {
        "Type": summary["type"],
        "Default": summary["default_in_words"],
        "Legal": summary["legal"],
        "Scope": "broker and topic" if summary["scope"] == "both" else summary["scope"],
        "At run time": "can be changed" if summary["changes_at_run_time"] else "fixed",
        "For one listener": f"listener.name.NAME.{option.name}" if option.is_per_listener else None,
        "Flag": summary["flag"],
        "Environment": summary["environment"],
        "mainstem.toml": toml_line(option),
        "Default taken from": summary["broker_default_from"] or None,
        "Default of topics'": summary["default_of_topic_option"] or None,
    }
    return {f"  {title}": value for title, value in fields.items()}
