"""The group of consumers as the demo sees it: processes, and which offsets have been read so far."""

from __future__ import annotations

import subprocess
import sys
import threading
from queue import Empty, SimpleQueue
from typing import Final

GROUP: Final = "order-screens"


class Readers:
    def __init__(self, address: str, count: int) -> None:
        self.distinct = 0
        self.repeated = 0
        self.delays_ms: list[int] = []
        self._seen: dict[int, bytearray] = {}  # by partition: a mark per offset
        self._lines: SimpleQueue[str] = SimpleQueue()
        self._processes = [self._start(address) for _ in range(count)]

    def _start(self, address: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "demo.reader", address, GROUP]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._listen, args=(process,), daemon=True).start()
        return process

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._lines.put(line)

    def kill_one(self) -> None:
        """No farewell to the group: it has to find out."""
        victim = self._processes.pop()
        victim.kill()
        victim.wait()

    def take_reports(self, wait_s: float = 0.0) -> None:
        try:
            self._take(self._lines.get(timeout=wait_s) if wait_s else self._lines.get_nowait())
            while True:
                self._take(self._lines.get_nowait())
        except Empty:
            return

    def _take(self, line: str) -> None:
        if not line.endswith("\n"):
            return  # the last words of the one that was killed
        partition, first, count, delay_ms = map(int, line.split())
        seen = self._seen.setdefault(partition, bytearray())
        if len(seen) < first + count:
            seen.extend(bytes(first + count - len(seen)))
        known = sum(seen[first : first + count])
        seen[first : first + count] = b"\x01" * count
        self.repeated += known
        self.distinct += count - known
        self.delays_ms.append(delay_ms)

    def delay_ms(self, share: float) -> int:
        ordered = sorted(self.delays_ms) or [0]
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

    def stop(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
