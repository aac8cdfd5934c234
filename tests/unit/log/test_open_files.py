from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.simulated_disk import SimulatedDisk

from mainstem.log.open_files import OpenFiles
from mainstem.ports.disk import RealDisk


def files_on(disk: SimulatedDisk, *names: str, capacity: int = 3) -> OpenFiles:
    for name in names:
        disk.open(name, create=True)
    return OpenFiles(disk, capacity)


def test_the_least_recently_used_file_goes_when_there_are_too_many() -> None:
    files = files_on(SimulatedDisk(), "/a", "/b", "/c", "/d")
    first = {name: files.get(name) for name in ("/a", "/b", "/c")}
    assert files.get("/a") is first["/a"]
    files.get("/d")
    assert len(files) == 3
    assert files.get("/a") is first["/a"]
    assert files.get("/b") is not first["/b"]


def test_a_missing_file_is_made_only_when_asked_for() -> None:
    files = files_on(SimulatedDisk())
    with pytest.raises(FileNotFoundError):
        files.get("/a")
    assert files.get("/a", create=True) is files.get("/a")


def test_what_is_forgotten_is_opened_again() -> None:
    files = files_on(SimulatedDisk(), "/a", "/b")
    before = files.get("/a"), files.get("/b")
    files.forget("/a")
    files.forget("/a")
    assert files.get("/a") is not before[0]


def test_a_file_that_was_dropped_stays_readable_for_who_holds_it(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(name.encode())
    files = OpenFiles(RealDisk(), 1)
    held = files.get(f"{tmp_path}/a")
    files.get(f"{tmp_path}/b")
    os.unlink(tmp_path / "a")
    assert held.read(10, 0) == b"a"


def test_pinned_files_are_those_that_were_there_whatever_takes_their_paths(tmp_path: Path) -> None:
    old, index = f"{tmp_path}/old.log", f"{tmp_path}/old.index"
    Path(old).write_bytes(b"old")
    files = OpenFiles(RealDisk(), 8)
    pinned = files.pinned([old, index])
    os.rename(old, old + ".deleted")
    files.forget(old)
    Path(old).write_bytes(b"new")
    Path(index).write_bytes(b"new")
    assert pinned.get(old).read(9, 0) == b"old"
    assert files.get(old).read(9, 0) == b"new"
    with pytest.raises(FileNotFoundError):
        pinned.get(index)
    with pytest.raises(PermissionError):
        pinned.get(index, create=True)
    assert pinned.unpinned is files
    pinned.forget(old)
    assert len(files) == 0
