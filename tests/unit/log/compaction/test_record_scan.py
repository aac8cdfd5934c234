from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainstem.log.compaction.offset_map import OffsetMap
from mainstem.log.compaction.record_scan import (
    KeepRule,
    Selection,
    index_keys,
    keyless_records,
    newest_delta,
    select_records,
    shift_timestamps,
)
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


@given(batches, st.integers(1, 60), st.booleans())
def test_what_is_selected_is_what_a_full_decode_would_select(
    made: list[NewRecord], piece: int, drops: bool
) -> None:
    plain = plain_of(made)
    newest = OffsetMap(64 * 1024, 1_000)
    position, left = 0, len(made)
    while left:
        count = min(left, piece)
        assert newest.make_room(count)
        position = index_keys(plain, position, count, 1_000, newest)
        left -= count
    assert position == len(plain)
    last = {record.key: number for number, record in enumerate(made) if record.key is not None}
    assert {key: newest.get(key) for key in last} == {key: 1_000 + number for key, number in last.items()}

    selection = Selection()
    position, left = 0, len(made)
    while left:
        count = min(left, piece)
        position = select_records(plain, position, count, 1_000, KeepRule(newest, drops), selection)
        left -= count
    kept = [
        number
        for number, record in enumerate(made)
        if last.get(record.key) == number and not (drops and record.value is None)
    ]
    payload = b"".join(plain[start:end] for start, end in selection.spans)
    header = parse_header(build_batch(made))._replace(record_count=len(kept))
    found = decode_records(seal_batch(header, payload))
    assert [record.offset_delta for record in found] == kept
    assert [(record.key, record.value) for record in found] == [(made[n].key, made[n].value) for n in kept]
    assert selection.count == len(kept)
    assert selection.keyless == sum(record.key is None for record in made)
    assert selection.has_tombstone == any(made[number].value is None for number in kept)
    assert len(selection.spans) <= len(kept)
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


@given(batches, st.data())
def test_damage_is_an_error_and_never_a_loop(made: list[NewRecord], data: st.DataObject) -> None:
    plain = bytearray(plain_of(made))
    for _ in range(data.draw(st.integers(1, 3))):
        plain[data.draw(st.integers(0, len(plain) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(plain[: data.draw(st.integers(0, len(plain)))])
    newest = OffsetMap(64 * 1024, 0)
    for scan in (
        lambda: index_keys(damaged, 0, len(made), 0, newest),
        lambda: select_records(damaged, 0, len(made), 0, KeepRule(newest, True), Selection()),
        lambda: keyless_records(damaged, len(made)),
    ):
        with suppress(IndexError, MalformedRecords):
            scan()


@pytest.mark.parametrize("cut", range(1, 12))
def test_records_that_end_too_early_are_malformed(cut: int) -> None:
    plain = plain_of([NewRecord(b"key", b"value")])
    with pytest.raises(MalformedRecords):
        keyless_records(plain[:-cut], 1)
    with pytest.raises((IndexError, MalformedRecords)):
        index_keys(plain[:-cut], 0, 1, 0, OffsetMap(64 * 1024, 0))
