"""The flags of `mainstem start`: one for each option of the broker.

`--help` shows the few that nearly every start needs; all the others work just as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import click

from mainstem.config.broker_options import BROKER_OPTIONS

_F = TypeVar("_F")


def broker_flags(command: _F) -> _F:
    """Gives a click command a flag per broker option; `chosen_flags` picks out those that were used."""
    decorated: Any = command
    for option in reversed(tuple(BROKER_OPTIONS.values())):
        if option.flag is not None:
            decorated = click.option(
                option.flag,
                option.field_name,
                metavar="HOST:PORT" if "HOST:PORT" in option.legal else "VALUE",
                help=option.doc,
                hidden=option.short_flag is None,
            )(decorated)
    return decorated  # type: ignore[no-any-return]


def chosen_flags(arguments: Mapping[str, Any]) -> dict[str, str]:
    """The flags that were given, by option name, as `load_broker_config` takes them."""
    chosen: dict[str, str] = {}
    for option in BROKER_OPTIONS.values():
        value = arguments.get(option.field_name)
        if value is not None:
            chosen[option.name] = value
    return chosen
