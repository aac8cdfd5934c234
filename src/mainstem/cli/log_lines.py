"""What the broker tells of its own work: lines on standard error, for people or as JSON.

Nobody who logs waits for the terminal or the pipe behind it: a line is formatted where it is said and
written by a thread of its own. What waits for that thread is bounded, and so is what one place in the
code may say: an attack that makes one line a connection must not fill a disk. What was left out is
counted and told.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
import traceback
from collections import deque
from datetime import UTC, datetime
from typing import Final

MAX_WAITING_LINES: Final = 10_000
REPEATS_PER_PERIOD: Final = 50  # from one place in the code
PERIOD_S: Final = 10.0

_LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_OWN_PREFIX: Final = "mainstem."
_STANDARD_FIELDS: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class HumanLines(logging.Formatter):
    """`2026-11-18 12:00:00.123 warning server.connection: what happened key=value`"""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created).isoformat(" ", "milliseconds")
        fields = "".join(f" {name}={value}" for name, value in _extra_fields(record).items())
        name = record.name.removeprefix(_OWN_PREFIX)
        line = f"{at} {record.levelname.lower()} {name}: {record.getMessage()}{fields}"
        raised = _raised(record)
        return f"{line}\n{raised}" if raised else line


class JsonLines(logging.Formatter):
    """One object a line, with what the record was given by `extra` as fields of their own."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        said = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extra_fields(record),
        }
        raised = _raised(record)
        if raised:
            said["exception"] = raised
        return json.dumps(said, default=str, ensure_ascii=False)


def _extra_fields(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD_FIELDS}


def _raised(record: logging.LogRecord) -> str:
    if record.exc_info is None or record.exc_info[0] is None:
        return ""
    return "".join(traceback.format_exception(*record.exc_info)).rstrip()


class _Repeats:
    """How often one place spoke in this period."""

    __slots__ = ("count", "until")

    def __init__(self) -> None:
        self.count = 0
        self.until = 0.0


class LineWriter(logging.Handler):
    """Formats at once, writes in a thread, and never makes anybody wait."""

    def __init__(self, descriptor: int, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self._descriptor = descriptor
        self._lines: deque[str] = deque()
        self._has_lines = threading.Condition()
        self._dropped = 0
        self._is_closing = False
        self._repeats: dict[tuple[str, int], _Repeats] = {}  # by place: as many as the code has
        self._thread = threading.Thread(target=self._write_lines, name="log lines", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            left_out = self._is_repeated_too_often(record)
            if left_out is None:
                return
            line = self.format(record)
        except Exception:
            self.handleError(record)
            return
        with self._has_lines:
            if len(self._lines) >= MAX_WAITING_LINES:
                self._dropped += 1
                return
            if left_out:
                self._lines.append(self._notice(f"{left_out} more lines like the next were left out"))
            self._lines.append(line)
            self._has_lines.notify()

    def close(self) -> None:
        """Writes what waits, for two seconds at most: the reader of a pipe may have stopped reading."""
        with self._has_lines:
            self._is_closing = True
            self._has_lines.notify()
        self._thread.join(2.0)
        super().close()

    def _is_repeated_too_often(self, record: logging.LogRecord) -> int | None:
        """None: leave this one out. Else how many were left out before it. Called under the lock."""
        now = time.monotonic()
        repeats = self._repeats.setdefault((record.pathname, record.lineno), _Repeats())
        left_out = 0
        if now >= repeats.until:
            left_out = max(0, repeats.count - REPEATS_PER_PERIOD)
            repeats.count = 0
            repeats.until = now + PERIOD_S
        repeats.count += 1
        return left_out if repeats.count <= REPEATS_PER_PERIOD else None

    def _notice(self, message: str) -> str:
        record = logging.LogRecord(__name__, logging.WARNING, __file__, 0, message, None, None)
        return self.format(record)

    def _write_lines(self) -> None:
        while True:
            with self._has_lines:
                while not self._lines and not self._is_closing:
                    self._has_lines.wait()
                lines = list(self._lines)
                self._lines.clear()
                dropped, self._dropped = self._dropped, 0
                is_last = self._is_closing
            if dropped:
                lines.append(self._notice(f"{dropped} lines were left out: nobody read them fast enough"))
            if lines:
                self._write("".join(line + "\n" for line in lines).encode("utf-8", "backslashreplace"))
            if is_last and not self._lines:
                return

    def _write(self, text: bytes) -> None:
        rest = memoryview(text)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            return  # nobody reads standard error any more: there is nowhere left to say so


def start_log_lines(level: str, style: str, descriptor: int = 2) -> LineWriter:
    """Takes over the root logger. Close the writer at the end, so that the last lines get out."""
    writer = LineWriter(descriptor, JsonLines() if style == "json" else HumanLines())
    root = logging.getLogger()
    root.handlers[:] = [writer]
    root.setLevel(_LEVELS[level])
    # Libraries speak up for what is wrong, not for how their work goes.
    for library in ("asyncio", "uvicorn"):
        logging.getLogger(library).setLevel(max(_LEVELS[level], logging.WARNING))
    return writer
