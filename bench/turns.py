"""Takes turns: warm-up, then ABAB, until each side has its rounds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from bench.scenario import Pace, Result, Sample, Scenario
from bench.sides import MAINSTEM, Contestant

QUIET_LOAD = 0.5  # of the machine's cores, from others: above it a figure says little


def run(
    scenario: Scenario,
    contestants: Sequence[Contestant],
    pace: Pace,
    tell: Callable[[str], None],
) -> Result:
    """A side that fails is out of this scenario; the other one goes on."""
    result = Result(scenario)
    sides = [one for one in contestants if one.side is MAINSTEM or not scenario.is_ours_alone]
    warm_ups = 1 if scenario.has_warm_up else 0
    rounds = min(pace.rounds, scenario.rounds_at_most)
    for number in range(warm_ups + rounds):
        for contestant in sides:
            if contestant.name in result.failures:
                continue
            what = f"round {number - warm_ups + 1} of {rounds}" if number >= warm_ups else "warm-up"
            tell(f"{scenario.name}: {contestant.name}, {what}")
            spent = pace if number >= warm_ups else pace.warm_up()
            sample = _measure(scenario, contestant, spent, result)
            if sample is not None and number >= warm_ups:
                result.samples.setdefault(contestant.name, []).append(sample)
    return result


def _measure(scenario: Scenario, contestant: Contestant, pace: Pace, result: Result) -> Sample | None:
    try:
        return scenario.measure(contestant, pace)
    except Exception as error:  # whatever it is, the other scenarios are still worth running
        result.failures[contestant.name] = f"{type(error).__name__}: {error}"
        return None


def foreign_load(seconds: float = 1.0) -> float:
    """The share of the machine that is busy while we do nothing."""
    before = _busy_and_all()
    time.sleep(seconds)
    busy, everything = (after - then for after, then in zip(_busy_and_all(), before, strict=True))
    return busy / everything if everything else 0.0


def _busy_and_all() -> tuple[int, int]:
    with open("/proc/stat") as file:
        ticks = [int(field) for field in file.readline().split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def machine() -> dict[str, object]:
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return {"cores": os.cpu_count(), "memory_gb": round(memory_gb, 1), "kernel": os.uname().release}
