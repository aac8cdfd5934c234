"""Results as tables for people and as JSON for programs.

A command decorates itself with `json_option` and hands its rows to `show_rows`, or one thing to
`show_fields`. A JSON document keeps the keys and types of the rows; a table shows them as text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import click

_F = TypeVar("_F")
_UNBOUNDED_WIDTH = 10_000  # a file or a pipe has no edge: nothing is folded there


class Column(NamedTuple):
    key: str
    title: str
    is_number: bool = False  # flush right


def json_option(command: _F) -> _F:
    """Gives the command `--json`, as its argument `as_json`."""
    decorate = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
    return decorate(command)  # type: ignore[type-var]


def show_rows(rows: Iterable[Mapping[str, Any]], columns: Sequence[Column], *, as_json: bool) -> None:
    """JSON: an array of all rows with all their keys. Table: the columns."""
    if as_json:
        show_json([dict(row) for row in rows])
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(Text(column.title), justify="right" if column.is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell_text(row.get(column.key))) for column in columns))
    _print_rich(table)


def show_fields(fields: Mapping[str, Any], *, as_json: bool) -> None:
    """One thing: a JSON object, or a line per field. Fields without a value are not printed as lines."""
    if as_json:
        show_json(dict(fields))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in fields.items():
        if value not in (None, "", []):
            table.add_row(Text(name), Text(cell_text(value)))
    _print_rich(table)


def show_json(document: Any) -> None:
    # One write: a reader never sees half a document.
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def cell_text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(str(item) for item in value)
    return str(value)


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _print_rich(renderable: Any) -> None:
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False)
    if console.is_terminal:
        console.print(renderable)
        return
    console = Console(file=sys.stdout, highlight=False, width=_UNBOUNDED_WIDTH)
    with console.capture() as captured:
        console.print(renderable)
    sys.stdout.write("".join(line.rstrip() + "\n" for line in captured.get().splitlines()))
