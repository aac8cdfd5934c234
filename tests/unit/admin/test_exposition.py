"""Prometheus' text format: names, labels, histograms, and pages larger than one chunk."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from mainstem.admin.metrics.exposition import (
    Family,
    Sample,
    by_label,
    counter,
    gauge,
    histogram,
    labels,
    write,
    write_family,
)


def text(family: Family) -> str:
    return "".join(write_family(family))


def test_a_single_figure() -> None:
    assert text(counter("hits_total", "Hits.", 7)) == (
        "# HELP mainstem_hits_total Hits.\n# TYPE mainstem_hits_total counter\nmainstem_hits_total 7\n"
    )
    assert text(gauge("load", "Load.", 0.5)).endswith("mainstem_load 0.5\n")


def test_figures_by_label() -> None:
    lines = text(by_label("gauge", "n", "N.", "directory", {"/a": 1, "/b": 2})).splitlines()
    assert lines[2:] == ['mainstem_n{directory="/a"} 1', 'mainstem_n{directory="/b"} 2']


@pytest.mark.parametrize(
    ("value", "written"),
    [('a"b', r"a\"b"), ("a\\b", r"a\\b"), ("a\nb", r"a\nb"), ('\\"\n', r"\\\"\n"), ("ä{}", "ä{}"), ("", "")],
)
def test_labels_escape_what_would_end_them(value: str, written: str) -> None:
    assert labels(group=value) == f'{{group="{written}"}}'


def test_a_histogram_counts_upwards() -> None:
    samples = list(histogram((0.001, 0.5), [2, 3, 4], 6.5))
    assert samples == [
        Sample('{le="0.001"}', 2, "_bucket"),
        Sample('{le="0.5"}', 5, "_bucket"),
        Sample('{le="+Inf"}', 9, "_bucket"),
        Sample("", 6.5, "_sum"),
        Sample("", 9, "_count"),
    ]
    labelled = list(histogram((1,), [1, 0], 1.0, '{api="Fetch"}'))
    assert labelled[0].labels == '{api="Fetch",le="1"}'
    assert labelled[-1].labels == '{api="Fetch"}'


def test_a_family_without_samples_still_says_what_it_is() -> None:
    assert text(Family("n", "gauge", "N.", ())).count("\n") == 2


async def test_a_large_page_comes_in_chunks_that_lose_nothing() -> None:
    made = 0

    def samples() -> Iterable[Sample]:
        nonlocal made
        for number in range(20_000):
            made += 1
            yield Sample(f'{{partition="{number}"}}', number)

    chunks: list[bytes] = []
    async for chunk in write([Family("n", "gauge", "N.", samples())]):
        if not chunks:
            assert made < 20_000, "the first chunk need not wait for the last sample"
        chunks.append(chunk)
    lines = b"".join(chunks).decode().splitlines()
    assert len(lines) == 20_002
    assert len(set(lines)) == 20_002
    assert len(chunks) > 2
