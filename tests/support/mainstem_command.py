"""The `mainstem` command as people run it: a process with its streams, exit code and signals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

TIMEOUT_S = 60.0
COMMAND = str(Path(sys.executable).with_name("mainstem"))


class Done(NamedTuple):
    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> Any:
        return json.loads(self.stdout)

    @property
    def lines(self) -> list[str]:
        return self.stdout.splitlines()


class MainstemCommand:
    """Commands against one broker."""

    def __init__(self, bootstrap: str) -> None:
        self._environ = {**os.environ, "MAINSTEM_BOOTSTRAP": bootstrap}

    def run(self, *arguments: object, stdin: str | bytes = b"", timeout_s: float = TIMEOUT_S) -> Done:
        done = subprocess.run(
            [COMMAND, *map(str, arguments)],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env=self._environ,
            timeout=timeout_s,
            check=False,
        )
        stdout, stderr = done.stdout.decode(errors="surrogateescape"), done.stderr.decode()
        assert "Traceback" not in stderr, stderr
        return Done(done.returncode, stdout, stderr)

    def ok(self, *arguments: object, stdin: str | bytes = b"", timeout_s: float = TIMEOUT_S) -> Done:
        """Runs what must succeed."""
        done = self.run(*arguments, stdin=stdin, timeout_s=timeout_s)
        assert done.code == 0, f"{arguments}: {done.code}\n{done.stdout}{done.stderr}"
        return done

    def start(self, *arguments: object, **streams: Any) -> subprocess.Popen[bytes]:
        """Starts what is to be talked to while it runs; the caller ends it."""
        pipes: dict[str, Any] = {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **streams,
        }
        return subprocess.Popen([COMMAND, *map(str, arguments)], env=self._environ, **pipes)
