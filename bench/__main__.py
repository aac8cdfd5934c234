"""`python -m bench [SCENARIO…]`: measure, print the table, keep the figures in bench/results."""

from __future__ import annotations

import argparse
import fnmatch
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from bench import report, turns
from bench.scenario import Pace, Result, Scenario
from bench.scenarios import all_scenarios
from bench.sides import KAFKA, MAINSTEM, Contestant, java_version

RESULTS = Path(__file__).with_name("results")
ROUNDS, SECONDS = 3, 4.0
QUICK_ROUNDS, QUICK_SECONDS = 1, 1.5
PACKAGES = ("confluent-kafka", "uvloop", "msgspec", "cramjam", "fastcrc")


def main() -> int:
    arguments = _parser().parse_args()
    everything = all_scenarios()
    if arguments.list:
        for scenario in everything:
            print(f"{scenario.name:28} {scenario.title}")
        return 0
    chosen = _choose(everything, arguments.scenarios)
    if not chosen:
        names = " ".join(scenario.name for scenario in everything)
        print(
            f"error: no scenario is called {' '.join(arguments.scenarios)}. There are: {names}",
            file=sys.stderr,
        )
        return 2
    _raise_open_files()
    console = Console(width=None if sys.stdout.isatty() else 200)
    results = _run(chosen, arguments, console)
    console.print(report.table(results))
    return 1 if any(result.failures for result in results) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "scenarios",
        nargs="*",
        metavar="SCENARIO",
        help="names, beginnings of names or patterns; without any: all",
    )
    parser.add_argument("--list", action="store_true", help="the scenarios, and nothing is run")
    parser.add_argument("--rounds", type=int, help=f"measured rounds for each side (default {ROUNDS})")
    parser.add_argument("--seconds", type=float, help=f"length of one load (default {SECONDS:g})")
    parser.add_argument("--quick", action="store_true", help="one short round: does it run at all?")
    parser.add_argument("--only", choices=("mainstem", "kafka"), help="leave the other side out")
    parser.add_argument(
        "--data-dir", type=Path, help="where the brokers keep their data (default: a temporary one)"
    )
    parser.add_argument("--json", type=Path, help="where to write the figures (default: bench/results)")
    return parser


def _choose(scenarios: Sequence[Scenario], wanted: Sequence[str]) -> list[Scenario]:
    if not wanted:
        return list(scenarios)
    return [
        scenario
        for scenario in scenarios
        if any(scenario.name.startswith(name) or fnmatch.fnmatch(scenario.name, name) for name in wanted)
    ]


def _run(chosen: Sequence[Scenario], arguments: argparse.Namespace, console: Console) -> list[Result]:
    quick = arguments.quick
    pace = Pace(
        rounds=arguments.rounds or (QUICK_ROUNDS if quick else ROUNDS),
        seconds=arguments.seconds or (QUICK_SECONDS if quick else SECONDS),
        is_quick=quick,
    )
    started = datetime.now(UTC)
    busy = turns.foreign_load()
    if busy > turns.QUIET_LOAD / 5:
        console.print(
            f"[yellow]others keep {busy:.0%} of this machine busy: these figures will say little[/]"
        )
    path = arguments.json or RESULTS / f"{started:%Y-%m-%dT%H-%M-%S}.json"
    facts = _facts(started, pace, busy)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="mainstem-bench-", dir=arguments.data_dir) as home:
        sides = [side for side in (MAINSTEM, KAFKA) if arguments.only in (None, side.name)]
        contestants = [Contestant(side, Path(home, side.name)) for side in sides]
        try:
            for scenario in chosen:
                began = time.monotonic()
                results.append(turns.run(scenario, contestants, pace, lambda line: _tell(console, line)))
                report.write_json(path, facts, results)
                console.print(f"[dim]{scenario.name}: {time.monotonic() - began:.0f} s[/]")
        finally:
            for contestant in contestants:
                contestant.close()
    console.print(f"[dim]figures: {path}[/]")
    return results


def _tell(console: Console, line: str) -> None:
    console.print(f"[dim]{line}[/]")


def _facts(started: datetime, pace: Pace, busy: float) -> dict[str, object]:
    return {
        "started": started.isoformat(timespec="seconds"),
        "command": " ".join(["python -m bench", *sys.argv[1:]]),
        "rounds": pace.rounds,
        "seconds": pace.seconds,
        "machine": turns.machine(),
        "busy_before": round(busy, 3),
        "versions": {
            MAINSTEM.name: MAINSTEM.version,
            KAFKA.name: KAFKA.version,
            "java": java_version(),
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
        },
    }


def _raise_open_files() -> None:
    """Ten thousand connections need as many descriptors; brokers and clients inherit the limit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    sys.exit(main())
