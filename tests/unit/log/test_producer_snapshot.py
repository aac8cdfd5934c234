from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.simulated_disk import SimulatedDisk

from mainstem.log.errors import LogCorrupt
from mainstem.log.producer_snapshot import (
    decode_snapshot,
    encode_snapshot,
    load_newest_snapshot,
    snapshot_offsets,
    snapshot_path,
    write_snapshot,
)
from mainstem.log.producer_state import ProducerEntry, SequenceRange

int64 = st.integers(0, 2**63 - 1)
times = st.integers(-1, 2**62)
batches = st.builds(SequenceRange, st.integers(0, 2**31 - 1), int64, st.integers(0, 2**31 - 1), times)
entries = st.builds(
    ProducerEntry,
    epoch=st.integers(0, 2**15 - 1),
    batches=st.lists(batches, max_size=5).map(tuple),
    last_timestamp_ms=times,
    coordinator_epoch=st.integers(-1, 2**31 - 1),
    transaction_first_offset=st.integers(-1, 2**62),
)


@given(st.dictionaries(int64, entries, max_size=20))
def test_a_snapshot_holds_the_last_batch_of_each_producer(producers: dict[int, ProducerEntry]) -> None:
    found = decode_snapshot(encode_snapshot(producers))
    assert found == {
        producer_id: entry._replace(
            batches=tuple(
                batch._replace(timestamp_ms=entry.last_timestamp_ms) for batch in entry.batches[-1:]
            )
        )
        for producer_id, entry in producers.items()
    }


@given(st.dictionaries(int64, entries, min_size=1, max_size=4), st.data())
def test_no_damage_goes_unnoticed(producers: dict[int, ProducerEntry], data: st.DataObject) -> None:
    raw = bytearray(encode_snapshot(producers))
    position = data.draw(st.integers(0, len(raw) - 1))
    raw[position] ^= data.draw(st.integers(1, 255))
    with pytest.raises(LogCorrupt):
        decode_snapshot(bytes(raw))
    with pytest.raises(LogCorrupt):
        decode_snapshot(bytes(raw[:position]))


def one(epoch: int) -> dict[int, ProducerEntry]:
    return {7: ProducerEntry(epoch, (SequenceRange(3, 9, 2, 5),), 5)}


def test_the_newest_whole_one_up_to_an_offset_is_loaded_and_damaged_ones_go() -> None:
    disk = SimulatedDisk()
    disk.make_directory("/t-0")
    for offset in (10, 20, 30, 40):
        write_snapshot(disk, "/t-0", offset, one(offset))
    disk.open(snapshot_path("/t-0", 30)).truncate(9)
    assert load_newest_snapshot(disk, "/t-0", up_to_offset=39) == (20, one(20))
    assert snapshot_offsets(disk.list("/t-0")) == [10, 20, 40]
    assert load_newest_snapshot(disk, "/t-0", up_to_offset=40) == (40, one(40))
    assert load_newest_snapshot(disk, "/t-0", up_to_offset=9) is None


def test_other_files_are_no_snapshots() -> None:
    names = [
        "00000000000000000010.snapshot",
        "10.snapshot",
        "00000000000000000010.snapshot.deleted",
        "x.snapshot",
    ]
    assert snapshot_offsets(names) == [10]
