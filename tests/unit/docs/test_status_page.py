"""docs/status.md names tests and files: each of them exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "status.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(?:tests/)?([\w/]+\.py)::(test_\w+)`")
IN_TESTS = re.compile(
    r"`(?:tests/)?((?:unit|property|conformance|chaos|spark|simulation)/[\w/]*(?:\.py)?)(?:::\w+)?`"
)


def test_the_tests_that_the_page_names_exist() -> None:
    named = NAMED.findall(PAGE)
    assert len(named) > 40
    for file, test in named:
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert re.search(rf"def {test}\b", text), f"{file} has no {test}"


def test_the_files_that_the_page_names_exist() -> None:
    for path in IN_TESTS.findall(PAGE):
        assert (ROOT / "tests" / path).exists(), path
