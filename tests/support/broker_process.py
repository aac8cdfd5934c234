"""A real broker in a process of its own, as an operator starts it: `mainstem start` with flags.

The process listens on free ports. It keeps its ports across restarts, so that a client which was
connected before a crash finds the broker again where it was. What it logs goes to one file beside the
data directory, over all of its starts; a start that fails shows the end of it.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from mainstem.config.broker_options import BROKER_OPTIONS

READY_LINE = re.compile(r"mainstem ready kafka=(?P<kafka>\S+) admin=(?P<admin>\S+)(?P<named>(?: \S+=\S+)*)\n")
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0
LOG_TAIL_BYTES = 8_000


class BrokerProcess:
    """`options` are keyed by option name ("num.partitions"); every one becomes its flag."""

    def __init__(
        self,
        data_dir: Path,
        options: Mapping[str, str] = MappingProxyType({}),
        environ: Mapping[str, str] | None = None,
        wrapper: Sequence[str] = (),
    ) -> None:
        self.data_dir = data_dir
        self.options = dict(options)
        self.log_path = data_dir.parent / f"{data_dir.name}.broker.log"
        self._environ = environ
        self._wrapper = list(wrapper)  # a command that ends by becoming the broker: exec "$@"
        self._kafka_address = self.options.pop("listener.kafka", "127.0.0.1:0")
        self._admin_address = self.options.pop("listener.admin", "127.0.0.1:0")
        self.listeners: dict[str, str] = {}  # the addresses of `listeners`, by name
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for Kafka clients; stays the same across restarts."""
        return self._kafka_address

    @property
    def host(self) -> str:
        return self.bootstrap.rpartition(":")[0]

    @property
    def port(self) -> int:
        return int(self.bootstrap.rpartition(":")[2])

    @property
    def admin_url(self) -> str:
        assert self._admin_address, "this broker was started without an admin listener"
        return f"http://{self._admin_address}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker was not started"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, timeout_s: float = START_TIMEOUT_S) -> Self:
        """Starts the process and waits for its ready line."""
        assert not self.is_running, "the broker runs already"
        self.data_dir.parent.mkdir(parents=True, exist_ok=True)
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._wrapper, *self.command()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=None if self._environ is None else {**os.environ, **self._environ},
            )
        try:
            self._take_addresses(self._read_line(timeout_s))
        except BaseException:
            self.kill()
            raise
        return self

    def command(self) -> list[str]:
        flags = {
            "data.dir": str(self.data_dir),
            "listener.kafka": self._kafka_address,
            "listener.admin": self._admin_address,
            **self.options,
        }
        if "listeners" in self.options:
            del flags["listener.kafka"]
        command = [sys.executable, "-m", "mainstem.cli.main", "start"]
        for name, value in flags.items():
            flag = BROKER_OPTIONS[name].flag
            assert flag is not None, f"{name} has no flag"
            command += [flag, value]
        return command

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """Asks the broker to stop (SIGTERM), waits, and gives its exit code."""
        assert self._process is not None, "the broker was not started"
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(
                f"the broker did not stop within {timeout_s} s of SIGTERM:\n{self._log_tail()}"
            ) from None
        finally:
            self._close_output()

    def kill(self) -> None:
        """Ends the process without a warning (SIGKILL)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._close_output()

    def log_text(self) -> str:
        """Everything that the broker logged, over all of its starts."""
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def __enter__(self) -> Self:
        return self if self.is_running else self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.kill()
        elif self.is_running:
            self.stop()

    def _read_line(self, timeout_s: float) -> str:
        """The first line that the broker prints, or "" where it ends without one."""
        assert self._process is not None
        assert self._process.stdout is not None
        deadline = time.monotonic() + timeout_s
        output = self._process.stdout.fileno()
        line = b""
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise AssertionError(f"the broker was not ready after {timeout_s} s:\n{self._log_tail()}")
                piece = os.read(output, 4096)
                if not piece:
                    break
                line += piece
        return line.decode(errors="replace")

    def _take_addresses(self, line: str) -> None:
        ready = READY_LINE.fullmatch(line)
        if ready is None:
            raise AssertionError(f"the broker printed {line!r} and no ready line:\n{self._log_tail()}")
        self._kafka_address = ready["kafka"]
        self.listeners = dict(each.split("=", 1) for each in ready["named"].split())
        self._admin_address = "" if ready["admin"] == "-" else ready["admin"]

    def _close_output(self) -> None:
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()

    def _log_tail(self) -> str:
        return self.log_text()[-LOG_TAIL_BYTES:]
