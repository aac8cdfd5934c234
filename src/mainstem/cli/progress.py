"""A progress bar on standard error, where somebody sees it and where there is an end."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_REDRAW_S: Final = 0.1
_TITLE_WIDTH: Final = 28  # leaves room for the rest on a terminal of 80 columns


class ProgressBar:
    """`total` is in bytes or records; where it is 0 or nobody looks there is no bar."""

    def __init__(self, title: str, total: int, *, is_bytes: bool, is_wanted: bool = True) -> None:
        self._title = title if len(title) <= _TITLE_WIDTH else f"{title[: _TITLE_WIDTH - 1]}…"
        self._total = total
        self._is_bytes = is_bytes
        self._is_shown = is_wanted and total > 0 and sys.stderr.isatty()
        self._drawn_at = 0.0
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> ProgressBar:
        if self._is_shown:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                DownloadColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeRemainingColumn,
            )

            amount = DownloadColumn(binary_units=True) if self._is_bytes else MofNCompleteColumn()
            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                amount,
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
                auto_refresh=False,
            )
            self._task = self._progress.add_task(self._title, total=self._total)
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, done: int) -> None:
        if self._progress is None or self._task is None:
            return
        now = time.monotonic()
        if now - self._drawn_at >= _REDRAW_S or done >= self._total:
            self._drawn_at = now
            self._progress.update(self._task, completed=done, refresh=True)
