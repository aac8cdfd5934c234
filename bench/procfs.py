"""What a process costs: CPU of it and of its busiest thread, resident memory, open files. From /proc."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
KIB = 1024


@dataclass(frozen=True, slots=True)
class CpuReading:
    """CPU that a process has used so far, and each of its threads."""

    at_s: float
    process_s: float
    threads_s: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class CpuUse:
    """CPU between two readings; of several processes together where they were added up."""

    wall_s: float
    cpu_s: float
    busiest_thread_s: float

    @property
    def cores(self) -> float:
        return self.cpu_s / self.wall_s if self.wall_s else 0.0

    @property
    def busiest_thread(self) -> float:
        """The share of the time in which the busiest thread was running."""
        return self.busiest_thread_s / self.wall_s if self.wall_s else 0.0


def read_cpu(pid: int) -> CpuReading:
    threads = {}
    tasks = Path(f"/proc/{pid}/task")
    for task in tasks.iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            threads[int(task.name)] = _stat_cpu_s(task / "stat")
    return CpuReading(time.monotonic(), _stat_cpu_s(Path(f"/proc/{pid}/stat")), threads)


def cpu_between(before: CpuReading, after: CpuReading) -> CpuUse:
    threads = [used - before.threads_s.get(thread, 0.0) for thread, used in after.threads_s.items()]
    return CpuUse(after.at_s - before.at_s, after.process_s - before.process_s, max(threads, default=0.0))


def together(uses: Sequence[CpuUse]) -> CpuUse:
    return CpuUse(
        max((use.wall_s for use in uses), default=0.0),
        sum(use.cpu_s for use in uses),
        max((use.busiest_thread_s for use in uses), default=0.0),
    )


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * KIB
    return 0


def open_files(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def kernel_memory_bytes() -> int:
    """What the kernel holds in its own structures (sockets, inodes), of all processes together."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("Slab:"):
            return int(line.split()[1]) * KIB
    return 0


def _stat_cpu_s(path: Path) -> float:
    # The name in field 2 may hold spaces and brackets: count from behind it.
    fields = path.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S
