"""How a command finds the broker that it talks to, and how it comes in."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from mainstem.client.cluster import ClusterClient
    from mainstem.client.security import ClientSecurity

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"

_F = TypeVar("_F")
_CHOSEN: Final = "mainstem.security"  # in the context of the command
_PASSWORD_VARIABLE: Final = "MAINSTEM_CLIENT_PASSWORD"
_MAX_SECRET_BYTES: Final = 64 * 1024


def bootstrap_option(command: _F) -> _F:
    """Gives the command `--bootstrap`, as its argument `bootstrap`, and the flags of TLS and log-in."""
    decorated: Any = command
    for name, metavar, help_text in reversed(_SECURITY_FLAGS):
        decorated = _security_option(name, metavar, help_text)(decorated)
    decorate: Any = click.option(
        "--bootstrap",
        envvar="MAINSTEM_BOOTSTRAP",
        default=DEFAULT_BOOTSTRAP,
        show_default=True,
        metavar="HOST:PORT",
        help="A broker of the cluster, or several with commas. [env: MAINSTEM_BOOTSTRAP]",
    )
    return decorate(decorated)  # type: ignore[no-any-return]


_SECURITY_FLAGS: Final = (
    ("security-protocol", "PROTOCOL", "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL; follows from the others."),
    ("login", "USER", "Log in as this user; its password comes from a file or from the environment."),
    ("password-file", "FILE", f"The password, on the first line. [env: {_PASSWORD_VARIABLE}: the password]"),
    ("sasl-mechanism", "MECHANISM", "SCRAM-SHA-512 (the default), SCRAM-SHA-256, PLAIN or OAUTHBEARER."),
    ("token-file", "FILE", "Log in with this token (OAUTHBEARER)."),
    ("ca-file", "FILE", "Through TLS: the authorities that the broker's certificate must be of, in PEM."),
    ("client-cert", "FILE", "Through TLS: show this certificate, in PEM."),
    ("client-key", "FILE", "The key of --client-cert, where it is not in the same file."),
)


def _security_option(name: str, metavar: str, help_text: str) -> Any:
    field = name.replace("-", "_")

    def keep(context: click.Context, parameter: click.Parameter, value: str | None) -> None:  # noqa: ARG001
        if value:
            context.meta.setdefault(_CHOSEN, {})[field] = value

    return click.option(
        f"--{name}",
        envvar=f"MAINSTEM_CLIENT_{field.removeprefix('client_').upper()}",
        metavar=metavar,
        help=help_text,
        expose_value=False,
        callback=keep,
    )


def open_cluster(bootstrap: str) -> ClusterClient:
    from mainstem.client.addresses import parse_addresses
    from mainstem.client.cluster import ClusterClient

    context = click.get_current_context(silent=True)
    chosen = context.meta.get(_CHOSEN, {}) if context is not None else {}
    return ClusterClient(
        parse_addresses(bootstrap), client_id="mainstem-cli", security=chosen_security(chosen, os.environ)
    )


def chosen_security(chosen: Mapping[str, str], environ: Mapping[str, str]) -> ClientSecurity:
    """What the flags say together. Raises `InvalidSecurity`."""
    from mainstem.client.security import ClientSecurity, check_security, implied_protocol

    token_file, user = chosen.get("token_file"), chosen.get("login")
    mechanism = chosen.get("sasl_mechanism", "OAUTHBEARER" if token_file else "SCRAM-SHA-512").upper()
    has_login = bool(user or token_file)
    has_tls = "ca_file" in chosen or "client_cert" in chosen
    protocol = chosen.get("security_protocol", "").upper()
    password = environ.get(_PASSWORD_VARIABLE)
    if "password_file" in chosen:
        password = secret_in(chosen["password_file"])
    elif user and password is None and mechanism != "OAUTHBEARER" and sys.stdin.isatty():
        password = click.prompt(f"Password of {user}", hide_input=True, err=True)
    return check_security(
        ClientSecurity(
            protocol=protocol or implied_protocol(has_login=has_login, has_tls=has_tls),
            mechanism=mechanism,
            user=user,
            password=password if user else None,
            token=secret_in(token_file) if token_file else None,
            ca_file=chosen.get("ca_file"),
            certificate_file=chosen.get("client_cert"),
            key_file=chosen.get("client_key"),
            key_password=environ.get("MAINSTEM_CLIENT_KEY_PASSWORD"),
        )
    )


def secret_in(path: str) -> str:
    """The first line of a file; `-` is standard input."""
    from mainstem.client.errors import InvalidSecurity

    try:
        if path == "-":
            data = sys.stdin.buffer.readline(_MAX_SECRET_BYTES)
        else:
            with Path(path).open("rb") as file:
                data = file.readline(_MAX_SECRET_BYTES)
        secret = data.decode("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InvalidSecurity(f"the secret in {path} cannot be read: {reason}") from error
    if not secret:
        raise InvalidSecurity(f"{path} has no secret on its first line")
    return secret


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
