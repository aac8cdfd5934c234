"""A directory whose disk begins to fail while a broker runs on it: calls that change it end in an I/O error.

The broker's interpreter finds a `sitecustomize` of ours first, which stands between Python and the system
calls that change files. They fail below the directory as soon as a switch file exists, and never elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

_SITE = """
import errno, os

ROOT, SWITCH = os.environ["FAILING_DISK_ROOT"], os.environ["FAILING_DISK_SWITCH"]


def check(where):
    if os.path.exists(SWITCH):
        path = os.readlink(f"/proc/self/fd/{where}") if isinstance(where, int) else os.fspath(where)
        if path.startswith(ROOT):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)


def failing(call):
    def wrapper(where, *more, **named):
        check(where)
        return call(where, *more, **named)

    return wrapper


def opening(path, flags, *more, call=os.open, **named):
    if flags & os.O_CREAT:
        check(path)
    return call(path, flags, *more, **named)


for name in os.environ["FAILING_DISK_CALLS"].split():
    setattr(os, name, opening if name == "open" else failing(getattr(os, name)))
"""

CHANGES = (
    "open",
    "pwrite",
    "pwritev",
    "write",
    "fdatasync",
    "fsync",
    "ftruncate",
    "mkdir",
    "rename",
    "unlink",
)
FLUSHES = ("fdatasync", "fsync")


class FailingDisk:
    def __init__(self, root: Path, folder: Path, calls: Sequence[str] = CHANGES) -> None:
        """`folder` is for what this needs besides."""
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(_SITE)
        self._switch = folder / "fail-now"
        path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.environ = {
            "PYTHONPATH": path,
            "FAILING_DISK_CALLS": " ".join(calls),
            "FAILING_DISK_ROOT": f"{root}/",
            "FAILING_DISK_SWITCH": str(self._switch),
        }

    def fail(self) -> None:
        self._switch.touch()

    def work(self) -> None:
        self._switch.unlink()
