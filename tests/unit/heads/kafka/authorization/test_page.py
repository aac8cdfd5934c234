"""docs/authorization.md says what each API asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from mainstem.heads.kafka.authorization.page import with_table

PAGE = Path(__file__).parents[5] / "docs" / "authorization.md"


def test_the_page_has_the_table_that_requests_are_checked_by() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page) == page, "run: python -m mainstem.heads.kafka.authorization.page"


def test_a_page_without_a_place_for_it_is_not_written() -> None:
    with pytest.raises(ValueError, match="no place"):
        with_table("# Something else\n")
