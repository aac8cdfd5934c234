"""A piece of one segment file, on its way to a reader."""

from __future__ import annotations

from typing import NamedTuple

from mainstem.ports.disk import File


class LogSlice(NamedTuple):
    """Bytes ready for sendfile or a read. Holding it keeps the file open."""

    file: File
    position: int
    length: int

    def read(self) -> bytes:
        return self.file.read(self.length, self.position)
