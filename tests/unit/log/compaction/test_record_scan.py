from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.log.compaction.test_offset_map import MAPS

from mainstem.log.compaction.record_scan import keyless_records, newest_delta, shift_timestamps
from mainstem.model.batch import HEADER_BYTES, parse_header
from mainstem.model.errors import MalformedRecords
from mainstem.model.records import NewRecord, build_batch, decode_records, seal_batch

records = st.builds(
    NewRecord,
    key=st.none() | st.binary(max_size=100),
    value=st.none() | st.binary(max_size=200),
    headers=st.lists(st.tuples(st.binary(max_size=5), st.none() | st.binary(max_size=9)), max_size=2),
    timestamp_ms=st.integers(-1, 2**41),
)
batches = st.lists(records, min_size=1, max_size=150)


def plain_of(made: list[NewRecord]) -> bytes:
    return build_batch(made)[HEADER_BYTES:]


@pytest.mark.parametrize("map_type", MAPS.values(), ids=MAPS)
@given(made=batches, drops=st.booleans())
def test_what_is_selected_is_what_a_full_decode_would_select(
    map_type: type[Any], made: list[NewRecord], drops: bool
) -> None:
    plain = plain_of(made)
    newest = map_type(64 * 1024, 1_000)
    breaths: list[int] = []
    assert newest.make_room(len(made))
    newest.index_batch(plain, len(made), 1_000, breaths.append)
    last = {record.key: number for number, record in enumerate(made) if record.key is not None}
    assert len(newest) == len(last)
    assert {key: newest.get(key) for key in last} == {key: 1_000 + number for key, number in last.items()}

    selection = newest.select_batch(plain, len(made), 1_000, drops, breaths.append)
    kept = [
        number
        for number, record in enumerate(made)
        if last.get(record.key) == number and not (drops and record.value is None)
    ]
    header = parse_header(build_batch(made))._replace(record_count=len(kept))
    found = decode_records(seal_batch(header, selection.records))
    assert [record.offset_delta for record in found] == kept
    assert [(record.key, record.value) for record in found] == [(made[n].key, made[n].value) for n in kept]
    assert selection.record_count == len(kept)
    assert selection.keyless == sum(record.key is None for record in made)
    assert selection.has_tombstone == any(made[number].value is None for number in kept)
    if kept:
        assert selection.newest_delta == max(record.timestamp_delta for record in found)
    if len(kept) == len(made):
        assert selection.records is plain
    assert len(breaths) >= 2
    assert keyless_records(plain, len(made)) == [n for n, record in enumerate(made) if record.key is None]


@given(batches, st.integers(-(2**41), 2**41))
def test_shifted_timestamps_mean_the_same_from_the_new_base(made: list[NewRecord], by_ms: int) -> None:
    plain = plain_of(made)
    shifted = shift_timestamps(plain, by_ms)
    header = parse_header(build_batch(made))
    before = decode_records(seal_batch(header, plain))
    after = decode_records(seal_batch(header, shifted))
    assert [record._replace(timestamp_delta=record.timestamp_delta - by_ms) for record in after] == before
    assert newest_delta(plain) == max(record.timestamp_delta for record in before)


@pytest.mark.parametrize("map_type", MAPS.values(), ids=MAPS)
@given(made=batches, data=st.data())
def test_damage_is_an_error_and_never_a_loop(
    map_type: type[Any], made: list[NewRecord], data: st.DataObject
) -> None:
    plain = bytearray(plain_of(made))
    for _ in range(data.draw(st.integers(1, 3))):
        plain[data.draw(st.integers(0, len(plain) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(plain[: data.draw(st.integers(0, len(plain)))])
    newest = map_type(64 * 1024, 0)
    for scan in (
        lambda: newest.index_batch(damaged, len(made), 2**30, silent),
        lambda: newest.select_batch(damaged, len(made), 2**30, True, silent),
        lambda: keyless_records(damaged, len(made)),
    ):
        with suppress(MalformedRecords):
            scan()


@pytest.mark.parametrize("map_type", MAPS.values(), ids=MAPS)
@pytest.mark.parametrize("cut", range(1, 12))
def test_records_that_end_too_early_or_too_late_are_malformed(map_type: type[Any], cut: int) -> None:
    plain = plain_of([NewRecord(b"key", b"value")])
    newest = map_type(64 * 1024, 0)
    for damaged in (plain[:-cut], plain + bytes(cut)):
        with pytest.raises(MalformedRecords):
            keyless_records(damaged, 1)
        with pytest.raises(MalformedRecords):
            newest.index_batch(damaged, 1, 0, silent)
        with pytest.raises(MalformedRecords):
            newest.select_batch(damaged, 1, 0, True, silent)


def silent(_units: int) -> None:
    pass
