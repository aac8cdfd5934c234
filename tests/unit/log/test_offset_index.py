from __future__ import annotations

import errno
import random

import pytest
from tests.support.simulated_disk import SimulatedDisk

from mainstem.log.offset_index import ENTRY, WARM_ENTRIES, OffsetIndex
from mainstem.log.open_files import OpenFiles

PATH = "/00000000000000000000.index"


def new_index(disk: SimulatedDisk | None = None) -> OffsetIndex:
    return OffsetIndex(OpenFiles(disk or SimulatedDisk(), 8), PATH, is_new=True)


def rising(count: int, seed: int = 5) -> list[tuple[int, int]]:
    chance = random.Random(seed)
    offset = position = 0
    entries = []
    for _ in range(count):
        offset, position = offset + chance.randint(1, 9), position + chance.randint(4_000, 9_000)
        entries.append((offset, position))
    return entries


def expected_position(entries: list[tuple[int, int]], offset: int) -> int:
    return next((position for at, position in reversed(entries) if at <= offset), 0)


@pytest.mark.parametrize(
    "count", [0, 1, 127, 128, 129, WARM_ENTRIES, 2 * WARM_ENTRIES + 200, 5 * WARM_ENTRIES]
)
@pytest.mark.parametrize("how", ["as it was filled", "released", "opened again"])
def test_lookup_gives_the_greatest_entry_at_or_below(count: int, how: str) -> None:
    disk = SimulatedDisk()
    index, entries = new_index(disk), rising(count)
    for entry in entries:
        index.append(*entry)
    if how == "released":
        index.release_memory()
    elif how == "opened again":
        assert index.write_pending()
        index = OffsetIndex(OpenFiles(disk, 8), PATH)
    assert index.entry_count == count
    assert index.last_entry() == (entries[-1] if entries else None)
    chance = random.Random(count)
    highest = entries[-1][0] if entries else 10
    for offset in [0, 1, highest, highest + 1, 2**32 - 1, *(chance.randint(0, highest) for _ in range(200))]:
        assert index.lookup(offset) == expected_position(entries, offset)
    assert index.read_all() == entries


def test_an_entry_that_does_not_rise_is_left_out() -> None:
    index = new_index()
    for entry in [(5, 100), (5, 200), (4, 300), (6, 100), (6, 50), (7, 400)]:
        index.append(*entry)
    assert index.read_all() == [(5, 100), (7, 400)]


def test_truncate_keeps_what_lies_below_both_and_goes_on_from_there() -> None:
    disk = SimulatedDisk()
    index, entries = new_index(disk), rising(3_000)
    for entry in entries:
        index.append(*entry)
    index.truncate(entries[2_000][0], entries[1_500][1])
    assert index.read_all() == entries[:1_500]
    index.append(*entries[1_600])
    assert index.write_pending()
    assert disk.read_file(PATH) == b"".join(
        ENTRY.pack(*entry) for entry in [*entries[:1_500], entries[1_600]]
    )


def test_a_disk_that_refuses_loses_nothing() -> None:
    disk = SimulatedDisk()
    index, entries = new_index(disk), rising(1_000)
    disk.fault = lambda operation, _: (
        OSError(errno.ENOSPC, "full") if operation in ("write", "create") else None
    )
    for entry in entries:
        index.append(*entry)
    assert not index.write_pending()
    assert [index.lookup(offset) for offset, _ in entries] == [position for _, position in entries]
    disk.fault = None
    assert index.write_pending()
    assert disk.read_file(PATH) == b"".join(ENTRY.pack(*entry) for entry in entries)


def test_a_missing_file_is_an_empty_index() -> None:
    index = OffsetIndex(OpenFiles(SimulatedDisk(), 8), PATH)
    assert (index.entry_count, index.last_entry(), index.lookup(7), index.read_all()) == (0, None, 0, [])
    index.sync()


def test_only_a_bounded_part_is_in_memory() -> None:
    index = new_index()
    for entry in rising(20_000):
        index.append(*entry)
    assert index._warm is not None
    assert len(index._warm.offsets) <= 2 * WARM_ENTRIES + 128
