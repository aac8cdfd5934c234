"""The table for people, and the same as JSON with every single round."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from rich.table import Table

from bench.scenario import Figure, Result, Sample
from bench.sides import KAFKA, MAINSTEM

OURS, THEIRS = MAINSTEM.name, KAFKA.name


def table(results: Sequence[Result]) -> Table:
    view = Table(title="Mainstem and Apache Kafka, side by side", title_justify="left", show_lines=False)
    for heading in ("what", "unit"):
        view.add_column(heading)
    for heading in ("Mainstem", "Kafka", "ratio", "goal"):
        view.add_column(heading, justify="right")
    view.add_column("reached")
    view.add_column("cores broker + client: Mainstem | Kafka")
    view.add_column("limit: Mainstem | Kafka")
    for result in results:
        _add(view, result)
    return view


def _add(view: Table, result: Result) -> None:
    view.add_section()
    view.add_row(
        f"[bold]{result.scenario.title}[/]", "", "", "", "", "", "", f"[dim]{result.scenario.name}[/]"
    )
    for number, figure in enumerate(result.scenario.figures):
        cores = _pair(result, _cores) if number == 0 else ""
        limit = _pair(result, _limit) if number == 0 else ""
        view.add_row(
            f"  {figure.name}",
            figure.unit,
            _with_spread(result.values(OURS, figure)),
            _with_spread(result.values(THEIRS, figure)),
            _ratio(result, figure),
            str(figure.goal or ""),
            _verdict(result, figure),
            cores,
            limit,
        )
    for side, failure in result.failures.items():
        view.add_row(
            f"  [red]{side} failed[/]", "", "", "", "", "", "", f"[red]{failure.splitlines()[-1][:200]}[/]"
        )


def _with_spread(values: Sequence[float]) -> str:
    """The median, and half the distance between the extremes as a percentage of it."""
    if not values:
        return "–"
    middle = median(values)
    if len(values) < 2 or not middle:
        return _number(middle)
    return f"{_number(middle)} ±{(max(values) - min(values)) / 2 / abs(middle):.0%}"


def _number(value: float) -> str:
    if abs(value) >= 1_000_000:
        return f"{value / 1e6:.2f}M"
    if abs(value) >= 10_000:
        return f"{value / 1e3:.0f}k"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"


def _ratio(result: Result, figure: Figure) -> str:
    ratio = result.ratio(figure)
    return "" if ratio is None else f"{ratio:.2f}x"


def _verdict(result: Result, figure: Figure) -> str:
    reached = result.is_reached(figure)
    if reached is None:
        return ""
    return "[green]reached[/]" if reached else "[red]not reached[/]"


def _pair(result: Result, describe: Any) -> str:
    parts = [describe(result.samples.get(side, [])) for side in (OURS, THEIRS)]
    return " | ".join(part or "–" for part in parts) if any(parts) else ""


def _cores(samples: Sequence[Sample]) -> str:
    usages = [sample.usage for sample in samples if sample.usage is not None]
    if not usages:
        return ""
    broker, client = (
        median(part) for part in zip(*((u.broker.cores, u.client.cores) for u in usages), strict=True)
    )
    return f"{broker:.2f} + {client:.2f}"


def _limit(samples: Sequence[Sample]) -> str:
    limits = [sample.usage.limit for sample in samples if sample.usage is not None]
    return max(set(limits), key=limits.count) if limits else ""


def write_json(path: Path, facts: dict[str, object], results: Sequence[Result]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {**facts, "scenarios": [_as_json(result) for result in results]}
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def _as_json(result: Result) -> dict[str, object]:
    return {
        "name": result.scenario.name,
        "title": result.scenario.title,
        "figures": [_figure_as_json(result, figure) for figure in result.scenario.figures],
        "rounds": {side: [_sample_as_json(one) for one in rounds] for side, rounds in result.samples.items()},
        "failures": result.failures,
    }


def _figure_as_json(result: Result, figure: Figure) -> dict[str, object]:
    return {
        "name": figure.name,
        "unit": figure.unit,
        "mainstem": result.median(OURS, figure),
        "kafka": result.median(THEIRS, figure),
        "ratio": result.ratio(figure),
        "goal": str(figure.goal) if figure.goal else None,
        "reached": result.is_reached(figure),
    }


def _sample_as_json(sample: Sample) -> dict[str, object]:
    usage = {} if sample.usage is None else {**asdict(sample.usage), "limit": sample.usage.limit}
    return {**sample.values, "usage": usage}
