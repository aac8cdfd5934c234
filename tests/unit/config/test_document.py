"""docs/configuration.md says what the declarations say."""

from pathlib import Path

from mainstem.config.document import configuration_page

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"


def test_the_page_is_what_the_declarations_generate() -> None:
    assert PAGE.read_text(encoding="utf-8") == configuration_page(), "run: python -m mainstem.config.document"
