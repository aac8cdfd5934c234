"""The open files of a process, bounded.

A partition holds no descriptor while it is idle: whoever needs a file asks here, and the least
recently used ones go when there are too many. Going means that this table drops its reference: a
file closes with its last one, so a fetch that still sends from a file is never cut off.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from mainstem.ports.disk import Disk, File

DEFAULT_CAPACITY: Final = 512


class OpenFiles:
    """Safe to use from several threads: each step on the table is atomic under the interpreter's lock."""

    __slots__ = ("_disk", "_files", "capacity")

    def __init__(self, disk: Disk, capacity: int = DEFAULT_CAPACITY) -> None:
        self.capacity = capacity
        self._disk = disk
        self._files: OrderedDict[str, File] = OrderedDict()

    def __len__(self) -> int:
        return len(self._files)

    def get(self, path: str, *, create: bool = False) -> File:
        files = self._files
        file = files.get(path)
        if file is None:
            file = self._disk.open(path, create=create)
            files[path] = file
            self._shrink()
            return file
        with suppress(KeyError):  # another thread may have evicted it: our reference is still good
            files.move_to_end(path)
        return file

    def _shrink(self) -> None:
        with suppress(KeyError):
            while len(self._files) > self.capacity:
                self._files.popitem(last=False)

    def forget(self, path: str) -> None:
        """To be called before a file is renamed or removed."""
        self._files.pop(path, None)

    def pinned(self, paths: Iterable[str]) -> PinnedFiles:
        """The files that are at these paths now, for a reader who needs just them for as long as it likes."""
        held: dict[str, File] = {}
        for path in paths:
            with suppress(FileNotFoundError):
                held[path] = self.get(path)
        return PinnedFiles(self, self._disk, held)


class PinnedFiles(OpenFiles):
    """Some files, kept open and known by paths at which others may lie by now."""

    __slots__ = ("_all", "_held")

    def __init__(self, every: OpenFiles, disk: Disk, held: Mapping[str, File]) -> None:
        super().__init__(disk)
        self._all = every
        self._held = held

    @property
    def unpinned(self) -> OpenFiles:
        return self._all

    def get(self, path: str, *, create: bool = False) -> File:
        file = self._held.get(path)
        if file is None:
            if create:  # an index that had nothing to hold: it is not going to be written here any more
                raise PermissionError(f"{path} is another file by now")
            raise FileNotFoundError(f"{path} was not there when it was replaced")
        return file

    def forget(self, path: str) -> None:
        self._all.forget(path)
