"""Every promise of docs/isolation.md names its tests, and each of them exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def test_the_tests_that_the_page_names_exist() -> None:
    named = NAMED.findall((ROOT / "docs" / "isolation.md").read_text(encoding="utf-8"))
    assert len(named) > 30
    for file, test in named:
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert re.search(rf"def {test}\b", text), f"{file} has no {test}"


def test_every_promise_has_one() -> None:
    page = (ROOT / "docs" / "isolation.md").read_text(encoding="utf-8")
    promises = page.partition("## read_committed")[2].partition("## What is not promised")[0]
    items = re.split(r"\n- ", promises)[1:]
    assert len(items) > 15
    assert [item for item in items if not NAMED.search(item)] == []
