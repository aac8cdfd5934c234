"""What every log of a process shares: the disk, the time, and the table of open files."""

from __future__ import annotations

from dataclasses import dataclass

from mainstem.log.open_files import OpenFiles
from mainstem.ports.clock import Clock
from mainstem.ports.disk import Disk


@dataclass(frozen=True, slots=True)
class LogStorage:
    disk: Disk
    clock: Clock
    files: OpenFiles
