"""`mainstem user`: who can log in. A password comes from a prompt, from standard input or from a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import click

from mainstem.cli.broker_link import bootstrap_option, confirm, open_cluster, secret_in
from mainstem.cli.tables import Column, json_option, show_fields, show_rows

_BOTH: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_COLUMNS = (Column("user", "USER"), Column("mechanisms", "MECHANISMS"))


def _password_options(command: Any) -> Any:
    for option in (
        click.option("--iterations", type=click.IntRange(4096, 16384), default=8192, show_default=True),
        click.option(
            "--mechanism",
            "mechanisms",
            multiple=True,
            type=click.Choice(_BOTH, case_sensitive=False),
            help="For this mechanism only, instead of for both. PLAIN works with either.",
        ),
        click.option(
            "--new-password-file",
            metavar="FILE",
            help="The user's password is the first line of this file; - is standard input. "
            "Without it you are asked.",
        ),
    ):
        command = option(command)
    return command


@click.group()
def command() -> None:
    """Add, list, describe and delete users, and set their passwords."""


@command.command("add")
@click.argument("name")
@_password_options
@click.option(
    "--offline",
    "data_dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DATA-DIR",
    help="Write into the data directory of a broker that is stopped: for the first user of all.",
)
@bootstrap_option
def add(
    bootstrap: str,
    name: str,
    new_password_file: str | None,
    mechanisms: tuple[str, ...],
    iterations: int,
    data_dir: Path | None,
) -> None:
    """Add the user NAME."""
    password = _new_password(name, new_password_file)
    if data_dir is not None:
        from mainstem.cli.offline_users import add_offline

        add_offline(data_dir, name, password, mechanisms or _BOTH, iterations)
        click.echo(f"added user {name} in {data_dir}")
        return
    from mainstem.client import users

    with open_cluster(bootstrap) as cluster:
        if users.users_of(cluster, [name]):
            raise click.UsageError(f"there is a user {name}: `mainstem user passwd` changes its password")
        users.set_password(cluster, name, password, mechanisms or _BOTH, iterations)
    click.echo(f"added user {name}")


@command.command("passwd")
@click.argument("name")
@_password_options
@bootstrap_option
def passwd(
    bootstrap: str, name: str, new_password_file: str | None, mechanisms: tuple[str, ...], iterations: int
) -> None:
    """Change the password of the user NAME.

    For the mechanisms that the user has, unless --mechanism names others. Connections that are there stay.
    """
    from mainstem.client import users

    with open_cluster(bootstrap) as cluster:
        found = _existing(users.users_of(cluster, [name]), name)
        password = _new_password(name, new_password_file)
        users.set_password(cluster, name, password, mechanisms or tuple(found), iterations)
    click.echo(f"changed the password of user {name}")


@command.command("list")
@json_option
@bootstrap_option
def list_users(bootstrap: str, as_json: bool) -> None:
    """List the users who have a password."""
    from mainstem.client import users

    with open_cluster(bootstrap) as cluster:
        found = users.users_of(cluster)
    rows = [{"user": name, "mechanisms": sorted(found[name])} for name in sorted(found)]
    show_rows(rows, _COLUMNS, as_json=as_json)


@command.command("describe")
@click.argument("name")
@json_option
@bootstrap_option
def describe(bootstrap: str, name: str, as_json: bool) -> None:
    """Tell the mechanisms of the user NAME, and how often each salts the password."""
    from mainstem.client import users

    with open_cluster(bootstrap) as cluster:
        found = _existing(users.users_of(cluster, [name]), name)
    if as_json:
        show_fields({"user": name, "iterations": found}, as_json=True)
    else:
        told = {mechanism: f"{count} iterations" for mechanism, count in found.items()}
        show_fields({"User": name, **told}, as_json=False)


@command.command("delete")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@bootstrap_option
def delete(bootstrap: str, name: str, yes: bool) -> None:
    """Delete the user NAME: it cannot log in any more. Connections that are there stay."""
    from mainstem.client import users

    with open_cluster(bootstrap) as cluster:
        found = _existing(users.users_of(cluster, [name]), name)
        confirm(f"Delete user {name}?", is_agreed=yes)
        users.delete_user(cluster, name, found)
    click.echo(f"deleted user {name}")


def _existing(found: dict[str, dict[str, int]], name: str) -> dict[str, int]:
    from mainstem.client.errors import Refused
    from mainstem.client.users import NOT_FOUND

    if name not in found:
        told = "there is no such user; `mainstem user list` names those that there are"
        raise Refused(NOT_FOUND, f"user {name}", told)
    return found[name]


def _new_password(name: str, file: str | None) -> str:
    if file is not None:
        return secret_in(file)
    if not sys.stdin.isatty():
        cure = "name a file with --new-password-file (- is standard input)"
        raise click.UsageError(f"there is nobody to ask: {cure}")
    answer: str = click.prompt(f"Password for {name}", hide_input=True, confirmation_prompt=True, err=True)
    return answer
