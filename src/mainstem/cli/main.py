"""`mainstem`: finds the command and runs it.

A command's module is imported when the command is used and not before, so that `mainstem --help` and
a wrong word are answered at once. The one-line helps stand here for the same reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

import click

from mainstem import __version__
from mainstem.cli.errors import reports_errors

# Each is the click command called `command` in mainstem.cli.<name>.
COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "start": "Run a broker in the foreground.",
        "topic": "Create, list, describe, alter and delete topics.",
        "produce": "Write records from standard input to a topic.",
        "consume": "Print the records of a topic.",
        "group": "List and describe consumer groups, move and delete their offsets.",
        "quota": "Limit how much users, clients and addresses take.",
        "user": "Add and delete users, set their passwords.",
        "acl": "List, add and remove access rules (ACLs).",
        "txn": "List and describe transactions, and abort those that hang.",
        "log": "Look into log files on disk and check them.",
        "config": "Explain the options of broker and topics.",
    }
)


class LazyGroup(click.Group):
    """A group that knows its commands' names and helps without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"mainstem.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            names = get_close_matches(args[0], COMMANDS, n=2)
            cure = f"Did you mean {' or '.join(names)}?" if names else f"Commands: {', '.join(COMMANDS)}."
            ctx.fail(f"There is no command {args[0]!r}. {cure}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        with reports_errors():
            return super().invoke(ctx)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`mainstem COMMAND --help` tells more. Exit codes: 0 done, 1 failed, 2 wrong usage or "
    "configuration, 3 broker out of reach.",
)
@click.version_option(__version__, prog_name="mainstem")
def command() -> None:
    """One durable log that Kafka clients connect to unchanged."""


def main() -> None:
    command(prog_name="mainstem")


if __name__ == "__main__":
    main()
