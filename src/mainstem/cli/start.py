"""`mainstem start`: a broker in the foreground.

One line on standard output says that it serves, and where; everything else goes to standard error. The
broker itself is imported only when the configuration is right: `--help` and a wrong option are answered
at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mainstem.cli.broker_flags import broker_flags, chosen_flags

if TYPE_CHECKING:
    from mainstem.config.value import HostPort


@click.command()
@click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The configuration file. [default: mainstem.toml in the working directory, if there is one]",
)
@broker_flags
def command(config_file: Path | None, **arguments: Any) -> None:
    """Run a broker in the foreground, until SIGTERM or Ctrl-C.

    Every option of the broker has a flag; `mainstem config list` shows them all.
    """
    from mainstem.cli.log_lines import start_log_lines
    from mainstem.config.load import find_config_file, load_broker_config

    file = find_config_file(config_file, os.environ, Path.cwd())
    config = load_broker_config(file=file, environ=os.environ, flags=chosen_flags(arguments))
    log_lines = start_log_lines(config.log_level, config.log_format)
    try:
        from mainstem.process import run_broker

        run_broker(config, _say_ready)
    finally:
        log_lines.close()


def _say_ready(kafka: HostPort, admin: HostPort | None, named: Mapping[str, HostPort]) -> None:
    each = "".join(f" {name}={address}" for name, address in named.items())
    sys.stdout.write(f"mainstem ready kafka={kafka} admin={admin or '-'}{each}\n")
    sys.stdout.flush()
