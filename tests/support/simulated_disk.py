"""A disk that loses what a real one may lose.

Every file has a content in the page cache, which all reads see, and a content on stable storage,
which `sync` brings up to date. A folder has names in memory and names on stable storage, which
`sync_directory` brings up to date: syncing a file does not make its name durable. `lose_power`
keeps the stable state and, as the seed decides, any part of what was not synced: a prefix of the
writes cut at any byte, or any subset of 512-byte sectors, and any subset of the name changes.

Faults: `crash_at` raises `PowerLoss` in the middle of the n-th operation that changes something;
`capacity_bytes` makes the disk full; `fault` may return the error of any operation. A failed sync
drops the dirty pages as Linux does: the next sync succeeds and the bytes are not there.
"""

from __future__ import annotations

import errno
import os
import random
import threading
from collections.abc import Callable, Sequence

from mainstem.model.batch import Buffer
from mainstem.ports.disk import DirectoryEntry

SECTOR_BYTES = 512


class PowerLoss(BaseException):
    """The power is gone. Not an `Exception`, so that nothing handles it by chance."""


class _FileNode:
    def __init__(self) -> None:
        self.cached = bytearray()
        self.stable = bytearray()
        self.changes: list[tuple[int, bytes | None]] = []  # (position, bytes) or (new size, None)

    def write(self, position: int, content: bytes) -> None:
        _write(self.cached, position, content)
        self.changes.append((position, content))

    def truncate(self, size: int) -> None:
        _truncate(self.cached, size)
        self.changes.append((size, None))

    def sync(self) -> None:
        _apply(self.stable, self.changes)
        self.changes.clear()

    def lose_power(self, chance: random.Random) -> None:
        if self.changes:
            choice = chance.randrange(4)
            if choice == 0:
                pass
            elif choice == 1:
                self.sync()
            elif choice == 2:
                self._keep_prefix(chance)
            else:
                self._keep_sectors(chance)
        self.changes.clear()
        self.cached = bytearray(self.stable)

    def _keep_prefix(self, chance: random.Random) -> None:
        count = chance.randrange(len(self.changes) + 1)
        kept = self.changes[:count]
        if kept and kept[-1][1]:
            position, content = kept[-1]
            assert content is not None
            kept[-1] = (position, content[: chance.randrange(len(content) + 1)])
        _apply(self.stable, kept)

    def _keep_sectors(self, chance: random.Random) -> None:
        sectors: set[int] = set()
        for position, content in self.changes:
            if content:
                sectors.update(
                    range(position // SECTOR_BYTES, (position + len(content) - 1) // SECTOR_BYTES + 1)
                )
        after = self.cached
        size = chance.choice([len(self.stable), len(after), chance.randint(0, len(after))])
        size = max(size, min(len(self.stable), len(after)))
        _truncate(self.stable, size)
        for sector in sorted(sectors):
            if chance.random() < 0.5:
                start = sector * SECTOR_BYTES
                content = bytes(after[start : start + SECTOR_BYTES])[: max(0, size - start)]
                if content:
                    _write(self.stable, start, content)


class _DirectoryNode:
    def __init__(self) -> None:
        self.entries: dict[str, _FileNode | _DirectoryNode] = {}
        self.stable: dict[str, _FileNode | _DirectoryNode] = {}
        self.changes: list[dict[str, _FileNode | _DirectoryNode | None]] = []  # None: removed

    def change(self, names: dict[str, _FileNode | _DirectoryNode | None]) -> None:
        self.changes.append(names)
        _change(self.entries, names)

    def sync(self) -> None:
        for names in self.changes:
            _change(self.stable, names)
        self.changes.clear()

    def sync_tree(self) -> None:
        self.sync()
        for node in self.entries.values():
            if isinstance(node, _DirectoryNode):
                node.sync_tree()
            else:
                node.sync()

    def lose_power(self, chance: random.Random) -> None:
        share = chance.choice([0.0, 0.5, 1.0])
        for names in self.changes:
            if chance.random() < share:
                _change(self.stable, names)
        self.changes.clear()
        self.entries = dict(self.stable)
        for node in self.entries.values():
            node.lose_power(chance)


def _change(
    entries: dict[str, _FileNode | _DirectoryNode], names: dict[str, _FileNode | _DirectoryNode | None]
) -> None:
    for name, node in names.items():
        if node is None:
            entries.pop(name, None)
        else:
            entries[name] = node


def _write(content: bytearray, position: int, piece: bytes) -> None:
    if position > len(content):
        content.extend(bytes(position - len(content)))
    content[position : position + len(piece)] = piece


def _truncate(content: bytearray, size: int) -> None:
    if size < len(content):
        del content[size:]
    else:
        content.extend(bytes(size - len(content)))


def _apply(content: bytearray, changes: Sequence[tuple[int, bytes | None]]) -> None:
    for position, piece in changes:
        if piece is None:
            _truncate(content, position)
        else:
            _write(content, position, piece)


class SimulatedFile:
    def __init__(self, disk: SimulatedDisk, node: _FileNode, path: str, *, writable: bool) -> None:
        self._disk = disk
        self._node = node
        self._path = path
        self._writable = writable

    def fileno(self) -> int:
        raise OSError(errno.EBADF, "a simulated file has no descriptor")

    def write(self, buffers: Sequence[Buffer], position: int) -> int:
        if not self._writable:
            raise OSError(errno.EBADF, "opened for reading", self._path)
        content = b"".join(buffers)
        disk = self._disk
        with disk.lock_:
            torn = disk.step("write", self._path)
            room = disk.room(max(0, position + len(content) - len(self._node.cached)))
            if torn or room < 0:
                kept = content[: disk.chance.randrange(len(content) + 1)] if torn else content[:room]
                if kept:
                    self._node.write(position, kept)
                if torn:
                    raise PowerLoss
                raise OSError(errno.ENOSPC, "no space left", self._path)
            self._node.write(position, content)
        return len(content)

    def write_through(self, buffers: Sequence[Buffer], position: int) -> int:
        total = self.write(buffers, position)
        self.sync()
        return total

    def read(self, length: int, position: int) -> bytes:
        with self._disk.lock_:
            self._disk.check("read", self._path)
            return bytes(self._node.cached[position : position + length])

    def size(self) -> int:
        return len(self._node.cached)

    def truncate(self, size: int) -> None:
        with self._disk.lock_:
            self._disk.change("truncate", self._path)
            self._node.truncate(size)

    def allocate(self, size: int) -> None:
        with self._disk.lock_:
            self._disk.change("allocate", self._path)
            growth = size - len(self._node.cached)
            if growth > 0:
                if self._disk.room(growth) < 0:
                    raise OSError(errno.ENOSPC, "no space left", self._path)
                self._node.truncate(size)

    def sync(self) -> None:
        with self._disk.lock_:
            try:
                self._disk.change("sync", self._path)
            except OSError:
                self._node.changes.clear()  # clean pages that never reached the disk
                raise
            self._node.sync()

    def close(self) -> None:
        pass


class SimulatedLock:
    def __init__(self, disk: SimulatedDisk, path: str) -> None:
        self._disk = disk
        self._path = path

    def release(self) -> None:
        self._disk.locks.discard(self._path)


class SimulatedDisk:
    """Absolute paths with `/`; the root is there from the start."""

    def __init__(self, seed: int = 0, *, capacity_bytes: int | None = None) -> None:
        self.chance = random.Random(seed)
        self.capacity_bytes = capacity_bytes
        self.fault: Callable[[str, str], OSError | None] | None = None
        self.crash_at: int | None = None
        self.operations = 0
        self.is_off = False
        self.locks: set[str] = set()
        self.lock_ = threading.RLock()
        self._root = _DirectoryNode()

    # -- what the test does to it --------------------------------------------------------------

    def lose_power(self) -> None:
        """The machine stops and starts: only what is on stable storage is certain."""
        self._root.lose_power(self.chance)
        self.is_off = False
        self.crash_at = None
        self.locks.clear()

    def kill_process(self) -> None:
        """The process stops and starts: the page cache stays."""
        self.is_off = False
        self.crash_at = None
        self.locks.clear()

    # -- what its files call -------------------------------------------------------------------

    def check(self, operation: str, path: str) -> None:
        if self.is_off:
            raise PowerLoss
        error = self.fault(operation, path) if self.fault is not None else None
        if error is not None:
            raise error

    def step(self, operation: str, path: str) -> bool:
        """True when the power fails in the middle of this operation."""
        self.check(operation, path)
        self.operations += 1
        if self.crash_at is not None and self.operations >= self.crash_at:
            self.is_off = True
            return True
        return False

    def change(self, operation: str, path: str) -> None:
        if self.step(operation, path):
            raise PowerLoss

    def room(self, growth: int) -> int:
        """Bytes left after the growth; negative by what is missing, as a slice bound of the write."""
        if self.capacity_bytes is None or growth <= 0:
            return 0
        left = self.capacity_bytes - self._used(self._root) - growth
        return min(left, 0)

    def _used(self, node: _FileNode | _DirectoryNode) -> int:
        if isinstance(node, _FileNode):
            return len(node.cached)
        return sum(self._used(child) for child in node.entries.values())

    # -- the port ------------------------------------------------------------------------------

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> SimulatedFile:
        with self.lock_:
            self.check("open", path)
            folder, name = self._folder_of(path)
            node = folder.entries.get(name)
            if node is None:
                if not create:
                    raise FileNotFoundError(errno.ENOENT, "no such file", path)
                self.change("create", path)
                node = _FileNode()
                folder.change({name: node})
            if isinstance(node, _DirectoryNode):
                raise IsADirectoryError(errno.EISDIR, "is a folder", path)
            return SimulatedFile(self, node, path, writable=writable)

    def exists(self, path: str) -> bool:
        with self.lock_:
            self.check("exists", path)
            return self._find(path) is not None

    def size(self, path: str) -> int:
        with self.lock_:
            node = self._get(path)
            return len(node.cached) if isinstance(node, _FileNode) else 0

    def list(self, path: str) -> list[str]:
        with self.lock_:
            self.check("list", path)
            return list(self._directory(path).entries)

    def scan(self, path: str) -> Sequence[DirectoryEntry]:
        with self.lock_:
            self.check("list", path)
            return [
                DirectoryEntry(name, isinstance(node, _DirectoryNode))
                for name, node in self._directory(path).entries.items()
            ]

    def make_directory(self, path: str) -> None:
        with self.lock_:
            node = self._root
            for name in _parts(path):
                child = node.entries.get(name)
                if child is None:
                    self.change("make_directory", path)
                    child = _DirectoryNode()
                    node.change({name: child})
                if not isinstance(child, _DirectoryNode):
                    raise FileExistsError(errno.EEXIST, "a file is in the way", path)
                node = child

    def rename(self, source: str, target: str) -> None:
        with self.lock_:
            node = self._get(source)
            self.change("rename", source)
            folder, name = self._folder_of(source)
            target_folder, target_name = self._folder_of(target)
            if folder is target_folder:
                folder.change({name: None, target_name: node})
            else:
                target_folder.change({target_name: node})
                folder.change({name: None})

    def remove(self, path: str) -> None:
        with self.lock_:
            if self._find(path) is None:
                return
            self.change("remove", path)
            folder, name = self._folder_of(path)
            folder.change({name: None})

    def remove_tree(self, path: str) -> None:
        self.remove(path)

    def read_file(self, path: str) -> bytes:
        with self.lock_:
            self.check("read", path)
            node = self._get(path)
            if not isinstance(node, _FileNode):
                raise IsADirectoryError(errno.EISDIR, "is a folder", path)
            return bytes(node.cached)

    def replace_file(self, path: str, content: bytes, *, sync: bool = True) -> None:
        temporary = path + ".tmp"
        try:
            file = self.open(temporary, create=True)
            file.truncate(0)
            file.write([content], 0)
            if sync:
                file.sync()
            self.rename(temporary, path)
        except OSError:
            self.remove(temporary)
            raise
        if sync:
            self.sync_directory(os.path.dirname(path))

    def sync_directory(self, path: str) -> None:
        with self.lock_:
            self.change("sync_directory", path)
            self._directory(path).sync()

    def sync_everything(self) -> None:
        with self.lock_:
            self.change("sync_everything", "/")
            self._root.sync_tree()

    def free_bytes(self, path: str) -> int:
        with self.lock_:
            self.check("free_bytes", path)
            return self.total_bytes(path) - self._used(self._root)

    def total_bytes(self, path: str) -> int:
        self.check("total_bytes", path)
        return self.capacity_bytes if self.capacity_bytes is not None else 1 << 50

    def lock(self, path: str) -> SimulatedLock:
        if path in self.locks:
            raise BlockingIOError(errno.EAGAIN, "locked", path)
        self.open(path, create=True)
        self.locks.add(path)
        return SimulatedLock(self, path)

    # -- names ---------------------------------------------------------------------------------

    def _find(self, path: str) -> _FileNode | _DirectoryNode | None:
        node: _FileNode | _DirectoryNode | None = self._root
        for name in _parts(path):
            if not isinstance(node, _DirectoryNode):
                return None
            node = node.entries.get(name)
        return node

    def _get(self, path: str) -> _FileNode | _DirectoryNode:
        node = self._find(path)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return node

    def _directory(self, path: str) -> _DirectoryNode:
        node = self._get(path)
        if not isinstance(node, _DirectoryNode):
            raise NotADirectoryError(errno.ENOTDIR, "not a folder", path)
        return node

    def _folder_of(self, path: str) -> tuple[_DirectoryNode, str]:
        return self._directory(os.path.dirname(path)), os.path.basename(path)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]
