"""The disk as the log sees it.

Two protocols: `Disk` for names, `File` for bytes. The rules a simulation holds us to, because a
real power loss does: written bytes survive only after `File.sync`; a new, renamed or removed name
survives only after `Disk.sync_directory` of its folder; anything else may or may not be there.

Errors come out as `OSError`, as the kernel gives them; rooms above translate them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mainstem.model.batch import Buffer


class File(Protocol):
    def fileno(self) -> int:
        """The descriptor, for sendfile. A simulated file has none and raises `OSError`."""
        ...

    def write(self, buffers: Sequence[Buffer], position: int) -> int:
        """Writes all buffers one after the other at `position`, completely, and returns the bytes.

        On an error (a full disk) some of them may have been written: the caller truncates.
        """
        ...

    def read(self, length: int, position: int) -> bytes:
        """Up to `length` bytes at `position`; fewer only at the end of the file."""
        ...

    def size(self) -> int: ...

    def truncate(self, size: int) -> None: ...

    def allocate(self, size: int) -> None:
        """Reserves blocks so that later writes below `size` cannot meet a full disk."""
        ...

    def sync(self) -> None:
        """Returns when the file's bytes are on stable storage. Blocks: never called on the loop."""
        ...

    def close(self) -> None: ...


class Disk(Protocol):
    def open(self, path: str, *, create: bool = False, writable: bool = True) -> File:
        """`create` makes the file when it is missing and keeps its content when it is not."""
        ...

    def exists(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def list(self, path: str) -> list[str]: ...

    def make_directory(self, path: str) -> None:
        """With parents; an existing one is fine."""
        ...

    def rename(self, source: str, target: str) -> None: ...

    def remove(self, path: str) -> None:
        """A missing file is fine."""
        ...

    def remove_tree(self, path: str) -> None: ...

    def read_file(self, path: str) -> bytes: ...

    def replace_file(self, path: str, content: bytes, *, sync: bool = True) -> None:
        """Puts `content` at `path` atomically (new file, sync, rename, sync of the folder)."""
        ...

    def sync_directory(self, path: str) -> None: ...

    def free_bytes(self, path: str) -> int: ...
