"""The disk as the log sees it.

Two protocols: `Disk` for names, `File` for bytes. The rules a simulation holds us to, because a
real power loss does: written bytes survive only after `File.sync`; a new, renamed or removed name
survives only after `Disk.sync_directory` of its folder; anything else may or may not be there.

Errors come out as `OSError`, as the kernel gives them; rooms above translate them.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from mainstem.model.batch import Buffer


class DirectoryEntry(NamedTuple):
    name: str
    is_directory: bool


class File(Protocol):
    def fileno(self) -> int:
        """The descriptor, for sendfile. A simulated file has none and raises `OSError`."""
        ...

    def write(self, buffers: Sequence[Buffer], position: int) -> int:
        """Writes all buffers one after the other at `position`, completely, and returns the bytes.

        On an error (a full disk) some of them may have been written: the caller truncates.
        """
        ...

    def write_through(self, buffers: Sequence[Buffer], position: int) -> int:
        """`write` that returns when these bytes are on stable storage. Blocks, as `sync` does."""
        ...

    def read(self, length: int, position: int) -> bytes:
        """Up to `length` bytes at `position`; fewer only at the end of the file."""
        ...

    def size(self) -> int: ...

    def truncate(self, size: int) -> None: ...

    def allocate(self, size: int) -> None:
        """Reserves blocks so that later writes below `size` cannot meet a full disk.

        The file is at least `size` bytes long afterwards; what was not written reads as zeros.
        """
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

    def scan(self, path: str) -> Sequence[DirectoryEntry]:
        """The entries of a folder with their kind, in one pass and no order."""
        ...

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

    def sync_everything(self) -> None:
        """All files and all names, of whomever: for when single ones would be too many to count."""
        ...

    def free_bytes(self, path: str) -> int: ...

    def total_bytes(self, path: str) -> int: ...

    def lock(self, path: str) -> DirectoryLock:
        """Takes the exclusive lock on the file at `path`, made when missing.

        Raises `BlockingIOError` at once when another process (or another lock of this one) has it.
        """
        ...


class DirectoryLock(Protocol):
    def release(self) -> None: ...


def make_directory_durably(disk: Disk, path: str) -> None:
    """Makes a directory whose name, and the names of the parents that were missing, survive a power loss."""
    missing = []
    folder = os.path.abspath(path)
    while not disk.exists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    disk.make_directory(path)
    for made in reversed(missing):
        disk.sync_directory(os.path.dirname(made))


# The most buffers that the kernel takes in one call.
_IOV_MAX: Final = 1024 if os.sysconf("SC_IOV_MAX") >= 1024 else 16  # POSIX promises 16
# Contents and size, without the times: one write to the disk less than fsync.
_sync_data: Final[Callable[[int], None]] = getattr(os, "fdatasync", os.fsync)
_WRITE_THROUGH: Final[int] = getattr(os, "RWF_DSYNC", 0)


class RealFile:
    """A file descriptor that closes itself when its last reference goes.

    So whoever still sends from a file that the log has dropped keeps it readable, without a count
    of anybody's own.
    """

    __slots__ = ("_descriptor", "_path")

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor = descriptor
        self._path = path

    def __repr__(self) -> str:
        return f"RealFile({self._path!r})"

    def fileno(self) -> int:
        return self._descriptor

    def write(self, buffers: Sequence[Buffer], position: int) -> int:
        total = sum(map(len, buffers))
        if len(buffers) <= _IOV_MAX:
            written = os.pwritev(self._descriptor, buffers, position)
            if written == total:
                return total
            self._write_rest(buffers, position, written)
            return total
        for first in range(0, len(buffers), _IOV_MAX):
            chunk = buffers[first : first + _IOV_MAX]
            size = sum(map(len, chunk))
            written = os.pwritev(self._descriptor, chunk, position)
            if written != size:
                self._write_rest(chunk, position, written)
            position += size
        return total

    def _write_rest(self, buffers: Sequence[Buffer], position: int, written: int) -> None:
        """Finishes a write that the kernel cut short; the next call names the reason, if one stays."""
        position += written
        for buffer in buffers:
            if written >= len(buffer):
                written -= len(buffer)
                continue
            rest = memoryview(buffer)[written:]
            written = 0
            while rest:
                count = os.pwrite(self._descriptor, rest, position)
                if count == 0:
                    raise OSError(f"the system wrote nothing to {self._path}")
                position += count
                rest = rest[count:]

    def write_through(self, buffers: Sequence[Buffer], position: int) -> int:
        if _WRITE_THROUGH and len(buffers) <= _IOV_MAX:
            total = sum(map(len, buffers))
            try:
                # One call instead of two: a thread that competes for the interpreter waits once.
                if os.pwritev(self._descriptor, buffers, position, _WRITE_THROUGH) == total:
                    return total
            except OSError as error:
                if error.errno != errno.EOPNOTSUPP:
                    raise
        total = self.write(buffers, position)
        self.sync()
        return total

    def read(self, length: int, position: int) -> bytes:
        content = os.pread(self._descriptor, length, position)
        if len(content) == length or not content:
            return content
        parts = [content]  # a signal or the 2 GiB limit of one call: go on until the end of the file
        got = len(content)
        while got < length:
            content = os.pread(self._descriptor, length - got, position + got)
            if not content:
                break
            parts.append(content)
            got += len(content)
        return b"".join(parts)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def allocate(self, size: int) -> None:
        if size > 0:
            os.posix_fallocate(self._descriptor, 0, size)

    def sync(self) -> None:
        _sync_data(self._descriptor)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        # `close` is bound here because at interpreter exit the module's names may be gone already.
        descriptor = self._descriptor
        if descriptor >= 0:
            self._descriptor = -1
            with contextlib.suppress(OSError):
                close(descriptor)


def _lock_as_posix(descriptor: int) -> None:
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise BlockingIOError(error.errno, error.strerror) from error
        raise


class RealDirectoryLock:
    """`flock` on an open file: the kernel drops it with the process, however that ends.

    Beside it a lock as POSIX has it, which Java takes: a broker of Kafka and we keep each other out.
    """

    __slots__ = ("_descriptor",)

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _lock_as_posix(self._descriptor)
        except OSError:
            os.close(self._descriptor)
            raise

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


class RealDisk:
    """The disk of this machine."""

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> RealFile:
        flags = (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC
        if create:
            flags |= os.O_CREAT
        return RealFile(os.open(path, flags, 0o644), path)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def list(self, path: str) -> list[str]:
        return os.listdir(path)

    def scan(self, path: str) -> Sequence[DirectoryEntry]:
        with os.scandir(path) as entries:
            return [DirectoryEntry(entry.name, entry.is_dir()) for entry in entries]

    def make_directory(self, path: str) -> None:
        try:
            os.mkdir(path, 0o755)  # the common case in one call
        except FileExistsError:
            if not os.path.isdir(path):
                raise
        except FileNotFoundError:
            os.makedirs(path, 0o755, exist_ok=True)

    def rename(self, source: str, target: str) -> None:
        os.rename(source, target)

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def remove_tree(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path)

    def read_file(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def replace_file(self, path: str, content: bytes, *, sync: bool = True) -> None:
        temporary = path + ".tmp"
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            with open(descriptor, "wb", buffering=0) as file:
                rest = memoryview(content)
                while rest:
                    rest = rest[file.write(rest) :]
                if sync:
                    _sync_data(descriptor)
            os.rename(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        if sync:
            self.sync_directory(os.path.dirname(path) or ".")

    def sync_directory(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def sync_everything(self) -> None:
        os.sync()

    def free_bytes(self, path: str) -> int:
        status = os.statvfs(path)
        return status.f_bavail * status.f_frsize

    def total_bytes(self, path: str) -> int:
        status = os.statvfs(path)
        return status.f_blocks * status.f_frsize

    def lock(self, path: str) -> RealDirectoryLock:
        return RealDirectoryLock(path)
