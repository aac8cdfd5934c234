"""Prometheus' text format, version 0.0.4.

A family is a name, a kind, a line of help and its samples. Samples are made while they are written, so a
family over ten thousand partitions is never in memory as a whole, and the loop gets its turns in between.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from mainstem.admin.slices import Slices

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PREFIX: Final = "mainstem_"
_LINES_PER_PIECE: Final = 200
_CHUNK_BYTES: Final = 64 * 1024

Number = int | float


class Sample(NamedTuple):
    labels: str  # as `labels()` makes them, or empty
    value: Number
    suffix: str = ""  # of the name: _bucket, _sum, _count


class Family(NamedTuple):
    name: str  # without the prefix
    kind: str  # counter, gauge, histogram
    help: str
    samples: Iterable[Sample]


def labels(**values: object) -> str:
    inner = ",".join(f'{name}="{_escaped(str(value))}"' for name, value in values.items())
    return "{" + inner + "}"


def _escaped(text: str) -> str:
    if "\\" in text or '"' in text or "\n" in text:
        return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return text


def counter(name: str, help_text: str, value: Number) -> Family:
    return Family(name, "counter", help_text, (Sample("", value),))


def gauge(name: str, help_text: str, value: Number) -> Family:
    return Family(name, "gauge", help_text, (Sample("", value),))


def by_label(kind: str, name: str, help_text: str, label: str, values: Mapping[str, Number]) -> Family:
    samples = [Sample(labels(**{label: key}), value) for key, value in values.items()]
    return Family(name, kind, help_text, samples)


def histogram(
    upper_bounds: Sequence[float], counts: Sequence[int], total: float, label_text: str = ""
) -> Iterator[Sample]:
    """`counts` has one entry more than there are bounds: for what lies beyond them."""
    opening = label_text[:-1] + "," if label_text else "{"
    seen = 0
    for bound, count in zip(upper_bounds, counts, strict=False):
        seen += count
        yield Sample(f'{opening}le="{bound:.9g}"}}', seen, "_bucket")
    seen += sum(counts[len(upper_bounds) :])
    yield Sample(f'{opening}le="+Inf"}}', seen, "_bucket")
    yield Sample(label_text, total, "_sum")
    yield Sample(label_text, seen, "_count")


def write_family(family: Family) -> Iterator[str]:
    """The family's lines, some hundreds at a time."""
    name = PREFIX + family.name
    lines = [f"# HELP {name} {family.help}", f"# TYPE {name} {family.kind}"]
    for label_text, value, suffix in family.samples:
        lines.append(f"{name}{suffix}{label_text} {value}")
        if len(lines) >= _LINES_PER_PIECE:
            yield "\n".join(lines) + "\n"
            lines = []
    if lines:
        yield "\n".join(lines) + "\n"


async def write(families: Iterable[Family]) -> AsyncIterator[bytes]:
    """The whole page in chunks; gives the loop back between slices."""
    slices = Slices()
    waiting: list[str] = []
    size = 0
    for family in families:
        for piece in write_family(family):
            waiting.append(piece)
            size += len(piece)
            if size >= _CHUNK_BYTES:
                yield "".join(waiting).encode()
                waiting, size = [], 0
            await slices.pause()
    if waiting:
        yield "".join(waiting).encode()
