from __future__ import annotations

import os
import random
import tracemalloc
from typing import Any

import pytest

from mainstem.log.compaction.offset_map import MIN_SIZE_BYTES, CompiledOffsetMap, OffsetMap
from mainstem.log.compaction.selection import NewestOffsets
from mainstem.model.records import encode_record

MAPS: dict[str, type[Any]] = {"plain": OffsetMap}
if CompiledOffsetMap is not None:
    MAPS["compiled"] = CompiledOffsetMap


@pytest.fixture(params=list(MAPS))
def map_type(request: pytest.FixtureRequest) -> type[Any]:
    return MAPS[request.param]


def filled(newest: NewestOffsets, pairs: list[tuple[bytes, int]]) -> dict[bytes, int]:
    expected: dict[bytes, int] = {}
    for key, offset in pairs:
        assert newest.make_room(1)
        newest.put(key, offset)
        expected[key] = offset
    return expected


@pytest.mark.parametrize("key_bytes", [0, 1, 8, 32, 33, 500])
@pytest.mark.parametrize("count", [1, 50, 3_000])
def test_the_newest_offset_of_each_key_is_found(map_type: type[Any], key_bytes: int, count: int) -> None:
    chance = random.Random(count)
    keys = [chance.randbytes(key_bytes) for _ in range(count)]
    first = 7_000_000_000
    newest = map_type(MIN_SIZE_BYTES * 2, first)
    pairs = [(chance.choice(keys), first + number) for number in range(count * 3)]
    expected = filled(newest, pairs)
    assert len(newest) == len(expected)
    assert {key: newest.get(key) for key in expected} == expected
    assert newest.get(b"never seen") == -1
    assert newest.get(bytes(40)) == -1


def test_a_dictionary_becomes_a_table_and_knows_the_same() -> None:
    newest = OffsetMap(MIN_SIZE_BYTES, 100)
    expected: dict[bytes, int] = {}
    shapes = set()
    for number in range(2_000):
        expected |= filled(newest, [(b"%d" % number, 100 + number)])
        shapes.add(newest.is_table)
    assert shapes == {True, False}
    assert all(newest.get(key) == offset for key, offset in expected.items())
    assert newest.get(b"absent") == -1


def test_it_says_when_it_is_full_and_still_knows_everything(map_type: type[Any]) -> None:
    newest = map_type(MIN_SIZE_BYTES, 0)
    number = 0
    while newest.make_room(1):
        newest.put(b"key-%d" % number, number)
        number += 1
    assert number == newest.capacity
    assert all(newest.get(b"key-%d" % each) == each for each in range(number))
    assert newest.get(b"key-%d" % number) == -1


def test_its_memory_stays_below_what_was_stated() -> None:
    size = 1024 * 1024
    tracemalloc.start()
    try:
        newest = OffsetMap(size, 10**12)
        number = 0
        while newest.make_room(1):
            newest.put(b"a key of the longest kind %06d" % number, 10**12 + number)
            number += 1
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < size * 1.02
    assert newest.capacity > size / 25  # Kafka's takes 24 bytes an entry


def test_less_than_the_smallest_size_is_refused(map_type: type[Any]) -> None:
    with pytest.raises(ValueError, match="at least"):
        map_type(MIN_SIZE_BYTES - 1, 0)


def test_the_compiled_map_stays_below_what_was_stated() -> None:
    assert CompiledOffsetMap is not None, "the tests run where there is a compiler"
    size = 12 * 1024 * 1024
    before = resident_bytes()
    newest = CompiledOffsetMap(size, 0)
    number = 0
    while newest.make_room(20_000):
        newest.index_batch(plain_of(number, 20_000), 20_000, number, lambda _: None)
        number += 20_000
    assert newest.capacity > size / 27
    assert number + 20_000 > newest.capacity
    assert all(newest.get(b"%d" % each) == each for each in range(0, number, 997))
    assert resident_bytes() - before < size + 2**22  # and what the test itself holds


def plain_of(first: int, count: int) -> bytes:
    return b"".join([encode_record(at, 0, b"%d" % (first + at), b"") for at in range(count)])


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
