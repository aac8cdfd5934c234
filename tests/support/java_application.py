"""A Java application that runs beside a test: what it says is kept line by line; it ends with the test."""

from __future__ import annotations

import signal
import subprocess
import threading
from types import TracebackType
from typing import Final, Self

from tests.support import jvm
from tests.support.deadline import eventually

_FLAGS: Final = (*jvm.QUICK_START, "-Xmx256m")
_END_TIMEOUT_S: Final = 40.0


class JavaApplication:
    def __init__(self, package: str, main_class: str, *arguments: str) -> None:
        self.lines: list[str] = []
        self._process = jvm.start_java(package, main_class, *arguments, flags=_FLAGS, stdin=subprocess.PIPE)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def says(self, line: str) -> None:
        """Waits until it has said the line."""
        eventually(lambda: line in self.lines or not self.is_running, f"{line!r}")
        assert line in self.lines, "\n".join(self.lines[-60:])

    def end_input(self) -> int:
        """Closes its standard input and waits for its end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._wait()

    def terminate(self) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self._wait()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _wait(self) -> int:
        code = self._process.wait(_END_TIMEOUT_S)
        self._reader.join(5)
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_running:
            self.kill()
