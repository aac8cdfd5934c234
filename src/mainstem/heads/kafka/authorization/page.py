"""Writes the table of docs/authorization.md: `python -m mainstem.heads.kafka.authorization.page [FILE]`.

The text around the table is written by hand; what stands between the two marks is written here, from the
table that requests are checked by.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mainstem.heads.kafka.authorization.table import CHECKS
from mainstem.heads.kafka.compatibility import served_apis
from mainstem.wire.kafka.apis import APIS

_FILE: Final = "docs/authorization.md"
_BEGIN: Final = "<!-- begin: written by `python -m mainstem.heads.kafka.authorization.page` -->\n"
_END: Final = "<!-- end -->\n"


def with_table(page: str) -> str:
    """The page with its table as it must be."""
    before, _, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not end:
        raise ValueError(f"the page has no place for the table: no {_BEGIN.strip()} ... {_END.strip()}")
    return "".join((before, _BEGIN, *(f"{line}\n" for line in _table()), _END, after))


def _table() -> Iterator[str]:
    yield "| key | API | asks for |"
    yield "| --- | --- | --- |"
    for key in served_apis():
        yield f"| {key} | {APIS[key].name} | {CHECKS[key].asks} |"


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else _FILE)
    target.write_text(with_table(target.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
