"""Writes docs/configuration.md from the declarations: `python -m mainstem.config.document [FILE]`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from pathlib import Path

from mainstem.config.authorization_options import AuthorizationOptions
from mainstem.config.broker_options import BROKER_OPTIONS
from mainstem.config.catalog import default_in_words, type_in_words
from mainstem.config.connection_options import ConnectionOptions
from mainstem.config.group_options import GroupOptions
from mainstem.config.log_options import LogOptions
from mainstem.config.node_options import NodeOptions
from mainstem.config.option import Option
from mainstem.config.quota_options import QuotaOptions
from mainstem.config.security_options import ListenerOptions, SecurityOptions
from mainstem.config.topic_options import TOPIC_OPTIONS
from mainstem.config.transaction_options import TransactionOptions
from mainstem.config.value import Kind

_FILE = "docs/configuration.md"

_INTRODUCTION = """\
# Configuration

<!-- Written by `python -m mainstem.config.document` from the declarations in src/mainstem/config. \
Change those. -->

Options have Kafka's names and defaults where Kafka has them. An option that a broker of Kafka has and that
is not on this page does nothing here, and setting it is an error: no option is taken and then ignored.

## Where a value comes from

Later places win over earlier ones:

1. the default,
2. a TOML file: the one named by `--config`, else by `MAINSTEM_CONFIG`, else `mainstem.toml` in the working
   directory if there is one,
3. environment variables: `MAINSTEM_` and the option's name in capitals with underscores for dots,
4. flags of `mainstem start`,
5. changes at run time by Kafka's tools, where the table says that an option allows it: first those for all
   brokers, then those for one.

A topic's own settings win over all of these for that topic.

```toml
# mainstem.toml: dots and tables say the same
node.id = 1
listener.kafka = "127.0.0.1:9092"

[log]
segment.bytes = "256MiB"
retention.hours = 72

# TOML needs quotes where the name of one option begins with that of another
[max]
connections = 1000
"connections.per.ip" = 100
```

A size is a number of bytes or has a unit (`kB`, `MB`, `GB`, `TB`, `KiB`, `MiB`, `GiB`, `TiB`); a duration is
a number in the unit that the table names or has units of its own (`500ms`, `30s`, `15m`, `12h`, `7d`, `2w`,
`1h30m`). Lists are separated by commas. An empty value means "not set" where an option may be unset.

A name that does not exist, in the file or as a `MAINSTEM_` variable, and a value that cannot be, stop the
broker from starting: the error names the option, the value, the place it came from and the cure.
`mainstem config list` prints the options, `mainstem config explain NAME` everything about one.
"""

_LISTENER_WORDS = """\
Each of these may be set for one listener alone, under `listener.name.NAME.OPTION` in the file. How they go
together is told in [security.md](security.md).
"""


def configuration_page() -> str:
    """The whole of docs/configuration.md."""
    sections = (
        ("The node", NodeOptions),
        ("Logs", LogOptions),
        ("Listeners", ListenerOptions),
        ("TLS and log-in", SecurityOptions),
        ("Connections", ConnectionOptions),
        ("Access rules", AuthorizationOptions),
        ("Groups", GroupOptions),
        ("Transactions", TransactionOptions),
        ("Quotas", QuotaOptions),
    )
    parts = [_INTRODUCTION, "## Options of the broker\n"]
    for title, declaring in sections:
        options = [field.metadata["option"] for field in fields(declaring)]
        words = f"{_LISTENER_WORDS}\n" if declaring is SecurityOptions else ""
        parts.append(f"### {title}\n\n{words}{_table(options, _broker_row, 'Flag')}")
    parts.append(
        "## Options of a topic\n\n"
        "Set when a topic is created or at any time later. What a topic does not set comes from the broker "
        "option\nbeside it: from the first of several that is set.\n\n"
        + _table(TOPIC_OPTIONS.values(), _topic_row, "Broker's default")
    )
    return "\n".join(parts)


def _table(options: Iterable[Option], row: Callable[[Option], Iterator[str]], last_title: str) -> str:
    lines = [f"| Option | Type | Default | {last_title} |", "| --- | --- | --- | --- |"]
    for option in options:
        lines.append("| " + " | ".join(row(option)) + " |")
    return "\n".join(lines) + "\n"


def _broker_row(option: Option) -> Iterator[str]:
    flag = f"`{option.flag}`" if option.flag else "no flag" if option.is_sensitive else "never set"
    yield from _common_cells(option)
    yield f"{flag}, at run time" if option.is_dynamic else flag


def _topic_row(option: Option) -> Iterator[str]:
    yield from _common_cells(option)
    yield ", ".join(f"`{synonym.name}`" for synonym in option.synonyms) or "none"


def _common_cells(option: Option) -> Iterator[str]:
    yield f"`{option.name}`<br>{_escaped(option.doc)}"
    legal = "" if option.kind is Kind.BOOLEAN else option.legal
    yield type_in_words(option) + (f": {_escaped(legal)}" if legal else "")
    yield f"`{default_in_words(option)}`"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else _FILE)
    target.write_text(configuration_page(), encoding="utf-8")
    print(f"{target}: {len(BROKER_OPTIONS)} options of the broker, {len(TOPIC_OPTIONS)} of a topic")


if __name__ == "__main__":
    main()
