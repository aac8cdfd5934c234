"""Mending a segment: what is read again, where it ends, and that its indexes come out as they were."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.logs import START_MS, append, batch_of, new_log, storage_on

from mainstem.config.topic_options import TopicConfig
from mainstem.log.segment import Segment
from mainstem.log.segment_recovery import RecoveredSegment, has_sound_indexes, recover_segment

BATCHES = 60
INTERVAL_BYTES = 300


class Stored:
    """A segment of 60 batches of two records, its indexes written, opened as a start finds it."""

    def __init__(self, folder: Path) -> None:
        log = new_log(str(folder), TopicConfig(index_interval_bytes=INTERVAL_BYTES))
        for number in range(BATCHES):
            append(log, batch_of(b"%d" % number * 20, b"x", time_ms=START_MS + 10 * number))
        log.roll()
        closed = log.segments[0]
        closed.write_indexes()
        self.directory, self.state = log.directory, closed.state()
        self.open()
        self.path = Path(closed.log_path)
        self.starts = [position for position, _ in closed.scan_headers(0, closed.size_bytes)]
        self.looked_at: list[int] = []

    def open(self) -> None:
        self.storage = storage_on()
        self.segment = Segment.from_state(self.storage.files, self.directory, self.state, START_MS)

    def file(self, suffix: str) -> Path:
        return self.path.with_suffix(suffix)

    def recover(self, trusted_offset: int = 0) -> RecoveredSegment:
        """`looked_at` has the base offset of each batch that was checked."""
        self.looked_at.clear()
        return recover_segment(
            self.segment,
            file_bytes=self.path.stat().st_size,
            trusted_offset=trusted_offset,
            index_interval_bytes=INTERVAL_BYTES,
            on_batch=lambda header, _: self.looked_at.append(header.base_offset),
        )

    def indexes(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        times = [(entry.timestamp_ms, entry.relative_offset) for entry in self.segment.time_index.read_all()]
        return self.segment.offset_index.read_all(), times


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    return Stored(tmp_path)


def test_a_whole_segment_is_found_whole_and_its_indexes_come_out_the_same(stored: Stored) -> None:
    before = stored.indexes()
    assert len(before[0]) > 5
    assert stored.recover() == RecoveredSegment(2 * BATCHES, 0)
    assert stored.looked_at == list(range(0, 2 * BATCHES, 2))
    assert stored.indexes() == before


@pytest.mark.parametrize("trusted_offset", [40, 80, 119])
def test_what_was_stored_is_not_read_again(stored: Stored, trusted_offset: int) -> None:
    before = stored.indexes()
    assert stored.recover(trusted_offset) == RecoveredSegment(2 * BATCHES, 0)
    first = stored.looked_at[0]
    assert 0 < first <= trusted_offset
    assert trusted_offset - first < 20  # no further back than an index entry
    assert stored.looked_at == list(range(first, 2 * BATCHES, 2))
    assert stored.indexes() == before


@pytest.mark.parametrize("damage", ["gone", "falls", "leads nowhere"])
def test_an_index_that_lies_costs_a_look_at_everything(stored: Stored, damage: str) -> None:
    before = stored.indexes()
    entries = before[0]
    match damage:
        case "gone":
            lies: list[tuple[int, int]] = []
        case "falls":
            lies = [(entries[-1][0], entries[-1][1]), *entries]
        case _:
            lies = [(relative, position + 1) for relative, position in entries]
    stored.segment.offset_index.replace(lies)
    assert stored.recover(20) == RecoveredSegment(2 * BATCHES, 0)
    assert stored.looked_at[0] == 0
    assert stored.indexes() == before


def test_a_torn_tail_is_cut_off_and_no_index_leads_there(stored: Stored) -> None:
    size = stored.path.stat().st_size
    with stored.path.open("r+b") as file:
        file.truncate(size - 1)
    result = stored.recover(trusted_offset=80)
    assert result == RecoveredSegment(2 * (BATCHES - 1), size - 1 - stored.starts[-1])
    assert stored.path.stat().st_size == stored.starts[-1] == stored.segment.size_bytes
    offsets, times = stored.indexes()
    assert all(position < stored.starts[-1] for _, position in offsets)
    assert times[-1] == (START_MS + 10 * (BATCHES - 2) + 1, 2 * (BATCHES - 1) - 1)


def test_a_batch_out_of_order_ends_the_segment(stored: Stored) -> None:
    """Its checksum is right: the offset stands before what it covers."""
    content = bytearray(stored.path.read_bytes())
    content[stored.starts[30] : stored.starts[30] + 8] = (7).to_bytes(8)
    stored.path.write_bytes(content)
    assert stored.recover().next_offset == 60
    assert stored.path.stat().st_size == stored.starts[30]


def test_an_empty_segment_ends_where_it_begins(stored: Stored) -> None:
    stored.path.write_bytes(b"")
    assert stored.recover() == RecoveredSegment(0, 0)
    assert stored.indexes() == ([], [])


def test_a_glance_tells_an_index_that_is_missing_torn_or_leads_nowhere(stored: Stored) -> None:
    disk = stored.storage.disk
    assert has_sound_indexes(stored.segment, disk)
    for suffix in (".index", ".timeindex"):
        path = stored.file(suffix)
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        assert not has_sound_indexes(stored.segment, disk), suffix
        path.write_bytes(whole)
        assert has_sound_indexes(stored.segment, disk)
    index = stored.file(".index")
    whole = index.read_bytes()
    index.write_bytes(whole[:-4] + (stored.starts[-1] + 1).to_bytes(4))
    stored.open()
    assert not has_sound_indexes(stored.segment, disk)
