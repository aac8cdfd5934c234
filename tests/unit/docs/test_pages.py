"""The pages hold together: links lead somewhere, and names that they give exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mainstem.config.broker_options import BROKER_OPTIONS
from mainstem.config.topic_options import TOPIC_OPTIONS

TOP = Path(__file__).parents[3]
PAGES = sorted([*TOP.glob("*.md"), *TOP.glob("docs/**/*.md")])
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_METRIC = re.compile(r"\bmainstem_([a-z_]+)")
_OF_A_HISTOGRAM = ("_bucket", "_sum", "_count")


def links(page: Path) -> list[str]:
    return _LINK.findall(_CODE.sub("", page.read_text()))


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings, and those that are written."""
    text = _CODE.sub(lambda found: found[0].strip("`") if "\n" not in found[0] else "", page.read_text())
    headings = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a id="([^"]+)">', text))


def test_there_are_pages() -> None:
    assert len(PAGES) > 10
    assert sum(len(links(page)) for page in PAGES) > 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for link in links(page):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link}: there is no {target}"
        assert target.is_relative_to(TOP), f"{link} leads out of the project"
        if anchor:
            assert anchor in anchors(target), f"{link}: {target.name} has no such heading"


def test_the_metrics_that_operators_are_told_to_watch_exist() -> None:
    told = set(_METRIC.findall((TOP / "docs/operations.md").read_text()))
    assert len(told) > 15
    source = "".join(path.read_text() for path in (TOP / "src/mainstem/admin").rglob("*.py"))
    for name in sorted(told):
        stem = next((name.removesuffix(end) for end in _OF_A_HISTOGRAM if name.endswith(end)), name)
        assert f'"{name}"' in source or f'"{stem}"' in source, f"mainstem_{name}"


def test_the_options_that_operators_are_told_of_exist() -> None:
    text = (TOP / "docs/operations.md").read_text()
    table = text[text.index("| option | when to touch it |") : text.index("Users, access rules")]
    told = re.findall(r"`([a-z.]+\.[a-z.]+)`", table)
    assert len(told) > 10
    for name in told:
        assert name in BROKER_OPTIONS or name in TOPIC_OPTIONS, name


def test_the_modules_that_the_architecture_walks_through_exist() -> None:
    source = TOP / "src/mainstem"
    modules = [str(path.relative_to(source)) for path in source.rglob("*.py")]
    told = re.findall(r"`([\w/]+\.py)`", (TOP / "docs/architecture.md").read_text())
    assert len(told) > 30
    for name in told:
        in_a_room = any(module == name or module.endswith(f"/{name}") for module in modules)
        assert in_a_room or (TOP / name).exists(), name
