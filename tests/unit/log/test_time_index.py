from __future__ import annotations

import errno
import random

import pytest
from tests.support.simulated_disk import SimulatedDisk

from mainstem.log.open_files import OpenFiles
from mainstem.log.time_index import ENTRY, TimeEntry, TimeIndex

PATH = "/00000000000000000000.timeindex"


def new_index(disk: SimulatedDisk | None = None) -> TimeIndex:
    return TimeIndex(OpenFiles(disk or SimulatedDisk(), 8), PATH, is_new=True)


def rising(count: int) -> list[TimeEntry]:
    chance = random.Random(count)
    timestamp, offset = 1_700_000_000_000, 0
    entries = []
    for _ in range(count):
        timestamp, offset = timestamp + chance.randint(1, 50), offset + chance.randint(1, 9)
        entries.append(TimeEntry(timestamp, offset))
    return entries


@pytest.mark.parametrize("count", [0, 1, 2, 127, 128, 129, 1_000])
@pytest.mark.parametrize("reopens", [False, True])
def test_lookup_gives_the_last_entry_below_the_time(count: int, reopens: bool) -> None:
    disk = SimulatedDisk()
    index, entries = new_index(disk), rising(count)
    for entry in entries:
        index.append(*entry)
    if reopens:
        assert index.write_pending()
        index = TimeIndex(OpenFiles(disk, 8), PATH)
    assert index.entry_count == count
    assert index.last == (entries[-1] if entries else None)
    assert index.read_all() == entries
    start = 1_700_000_000_000
    for timestamp in [0, start, 2**60, *(start + 7 * number for number in range(count))]:
        below = [entry.relative_offset for entry in entries if entry.timestamp_ms < timestamp]
        assert index.lookup(timestamp) == (below[-1] if below else 0)


def test_an_entry_that_does_not_rise_is_left_out() -> None:
    index = new_index()
    for entry in [(-1, 3), (10, 5), (10, 6), (9, 7), (11, 5), (12, 8)]:
        index.append(*entry)
    assert index.read_all() == [(10, 5), (12, 8)]


def test_truncate_keeps_what_lies_below_the_offset() -> None:
    disk = SimulatedDisk()
    index, entries = new_index(disk), rising(400)
    for entry in entries:
        index.append(*entry)
    index.truncate(entries[250].relative_offset)
    assert index.read_all() == entries[:250]
    assert index.last == entries[249]
    assert disk.read_file(PATH) == b"".join(ENTRY.pack(*entry) for entry in entries[:250])


def test_a_disk_that_refuses_loses_nothing() -> None:
    disk = SimulatedDisk()
    index, entries = new_index(disk), rising(300)
    disk.fault = lambda operation, _: (
        OSError(errno.ENOSPC, "full") if operation in ("write", "create") else None
    )
    for entry in entries:
        index.append(*entry)
    assert not index.write_pending()
    assert index.lookup(2**60) == entries[-1].relative_offset
    disk.fault = None
    assert index.write_pending()
    assert index.read_all() == entries
