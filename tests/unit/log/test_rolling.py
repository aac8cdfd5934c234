"""When a segment is closed and the next begins: its size, its age, its index, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.logs import (
    START_MS,
    StandingClock,
    append,
    batch_of,
    new_log,
    recovered,
    storage_on,
    values_in,
)

from mainstem.config.topic_options import TopicConfig
from mainstem.log.partition_log import PartitionLog

HOUR_MS = 3_600_000


def bases(log: PartitionLog) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_no_batch_makes_a_segment_larger_than_it_may_be(tmp_path: Path) -> None:
    batch = batch_of(bytes(200))
    log = new_log(str(tmp_path), TopicConfig(segment_bytes=3 * len(batch)))
    for _ in range(7):
        append(log, batch)
    assert bases(log) == [0, 3, 6]
    assert [segment.size_bytes for segment in log.segments] == [3 * len(batch), 3 * len(batch), len(batch)]


def test_one_run_goes_over_as_many_segments_as_it_needs(tmp_path: Path) -> None:
    batches = [batch_of(b"%d" % number, b"x" * 100) for number in range(10)]
    log = new_log(str(tmp_path), TopicConfig(segment_bytes=4 * len(batches[0])))
    append(log, *batches)
    assert bases(log) == [0, 8, 16]
    again = recovered(log, recovery_point=0)
    assert bases(again) == [0, 8, 16]
    assert list(values_in(again).values())[::2] == [b"%d" % number for number in range(10)]


def test_the_age_of_a_segment_is_told_by_its_records(tmp_path: Path) -> None:
    """So that old data that is written anew is cut as it was the first time."""
    log = new_log(str(tmp_path), TopicConfig(segment_ms=HOUR_MS))
    for hours in (0.0, 0.5, 1.0, 1.1, 2.0, 2.2):
        append(log, batch_of(b"x", time_ms=START_MS + int(hours * HOUR_MS)))
    assert bases(log) == [0, 3, 5]


def test_a_segment_that_nobody_writes_to_is_closed_by_the_clock(tmp_path: Path) -> None:
    clock = StandingClock()
    log = new_log(str(tmp_path), TopicConfig(segment_ms=HOUR_MS), storage=storage_on(clock=clock))
    assert not log.roll_if_due(clock.time_ms + 10 * HOUR_MS)  # it is empty
    append(log, batch_of(b"x"))
    assert not log.roll_if_due(clock.time_ms + HOUR_MS)
    assert log.roll_if_due(clock.time_ms + HOUR_MS + 1)
    assert bases(log) == [0, 1]
    assert not log.roll_if_due(clock.time_ms + 10 * HOUR_MS)


def test_partitions_with_jitter_do_not_roll_all_at_once(tmp_path: Path) -> None:
    config = TopicConfig(segment_ms=HOUR_MS, segment_jitter_ms=HOUR_MS // 2)
    log = new_log(str(tmp_path), config)
    lengths = set()
    for _ in range(20):
        lengths.add(log._roll_after_ms)
        append(log, batch_of(b"x"))
        log.roll()
    assert len(lengths) > 10
    assert all(HOUR_MS // 2 <= length <= HOUR_MS for length in lengths)


@pytest.mark.parametrize("index_bytes", [36, 48, 60])
def test_a_full_index_closes_a_segment(tmp_path: Path, index_bytes: int) -> None:
    config = TopicConfig(index_interval_bytes=0, segment_index_bytes=index_bytes)
    log = new_log(str(tmp_path), config)
    for number in range(40):
        append(log, batch_of(b"x" * 50, time_ms=START_MS + number))
    assert len(log.segments) > 5
    for segment in log.segments:
        assert 8 * segment.offset_index.entry_count <= index_bytes
        assert 12 * segment.time_index.entry_count <= index_bytes
    assert len(values_in(log)) == 40


def test_offsets_that_an_index_cannot_hold_begin_a_segment(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), TopicConfig())
    append(log, batch_of(b"first"))
    log.log_end_offset = 0x7FFF_FFFF  # as compaction may leave it
    append(log, batch_of(b"the last that fits"))
    append(log, batch_of(b"one too many"))
    assert bases(log) == [0, 0x8000_0000]
