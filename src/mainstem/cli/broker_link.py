"""How a command finds the broker that it talks to."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from mainstem.client.cluster import ClusterClient

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"

_F = TypeVar("_F")


def bootstrap_option(command: _F) -> _F:
    """Gives the command `--bootstrap`, as its argument `bootstrap`."""
    decorate: Any = click.option(
        "--bootstrap",
        envvar="MAINSTEM_BOOTSTRAP",
        default=DEFAULT_BOOTSTRAP,
        show_default=True,
        metavar="HOST:PORT",
        help="A broker of the cluster, or several with commas. [env: MAINSTEM_BOOTSTRAP]",
    )
    return decorate(command)  # type: ignore[no-any-return]


def open_cluster(bootstrap: str) -> ClusterClient:
    from mainstem.client.addresses import parse_addresses
    from mainstem.client.cluster import ClusterClient

    return ClusterClient(parse_addresses(bootstrap), client_id="mainstem-cli")


def parse_pairs(texts: Sequence[str], option: str) -> list[tuple[str, str]]:
    """`name=value` as often as given."""
    pairs = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=option)
        pairs.append((name.strip(), value))
    return pairs


def confirm(question: str, *, is_agreed: bool) -> None:
    """Asks the person at the terminal; a program has to say --yes."""
    if is_agreed:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("there is nobody to ask: add --yes")
    click.confirm(question, abort=True, err=True)
