"""The broker of the demo: a process of its own, started as anybody would start it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

_READY: Final = re.compile(r"mainstem ready kafka=(\S+) admin=(\S+)")
_OPTIONS: Final = (
    ("--num-partitions", "6"),
    # Short patience, so that the demo need not wait for a consumer that was killed.
    ("--group-initial-rebalance-delay-ms", "500"),
    ("--group-min-session-timeout-ms", "1000"),
    ("--log-level", "warning"),
)


class DemoBroker:
    def __init__(self, folder: Path) -> None:
        self.address = "127.0.0.1:0"  # of the Kafka listener; kept over restarts
        self.admin_address = "127.0.0.1:0"
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> float:
        """Starts it and waits until it is ready; the seconds that took."""
        began = time.monotonic()
        command = [sys.executable, "-m", "mainstem.cli.main", "start"]
        command += ["--data-dir", str(self._folder / "data")]
        command += ["--kafka", self.address, "--admin", self.admin_address]
        for flag, value in _OPTIONS:
            command += [flag, value]
        with (self._folder / "broker.log").open("a") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self._process.stdout is not None
        ready = _READY.match(self._process.stdout.readline())
        if ready is None:
            self.stop()
            raise SystemExit(f"the broker did not start:\n{(self._folder / 'broker.log').read_text()}")
        self.address, self.admin_address = ready.groups()
        return time.monotonic() - began

    @property
    def resident_mb(self) -> float:
        assert self._process is not None
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()
