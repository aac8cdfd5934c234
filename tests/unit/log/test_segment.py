"""A segment finds its batches by offset, whatever its size, its index and the holes between them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.support.compaction import compact, put
from tests.support.logs import START_MS, append, batch_of, new_log

from mainstem.config.topic_options import TopicConfig
from mainstem.log.errors import LogCorrupt
from mainstem.log.partition_log import PartitionLog
from mainstem.log.segment import BatchSpan, Segment


def spans_of(segment: Segment) -> list[BatchSpan]:
    return [
        BatchSpan(position, header.size_bytes, header.base_offset, header.last_offset)
        for position, header in segment.scan_headers(0, segment.size_bytes)
    ]


def expected(spans: list[BatchSpan], offset: int) -> BatchSpan | None:
    return next((span for span in spans if span.last_offset >= offset), None)


def filled(folder: Path, index_interval_bytes: int, count: int = 400) -> PartitionLog:
    log = new_log(str(folder), TopicConfig(index_interval_bytes=index_interval_bytes))
    chance = random.Random(count)
    for number in range(count):
        values = [chance.randbytes(chance.choice([1, 90, 700])) for _ in range(chance.randint(1, 4))]
        append(log, batch_of(*values, time_ms=START_MS + number))
    return log


@pytest.mark.parametrize("index_interval_bytes", [0, 500, 4096, 10**9])
@pytest.mark.parametrize("state", ["active", "closed", "opened anew"])
def test_every_offset_leads_to_its_batch(tmp_path: Path, index_interval_bytes: int, state: str) -> None:
    log = filled(tmp_path, index_interval_bytes)
    segment = log.active
    if state != "active":
        log.roll()
    if state == "opened anew":
        segment = Segment.from_state(log.storage.files, log.directory, segment.state(), START_MS)
    spans = spans_of(segment)
    assert len(spans) == 400
    for offset in range(log.log_end_offset):
        assert segment.find(offset) == expected(spans, offset)
    assert segment.find(log.log_end_offset) is None


def test_an_offset_in_a_hole_leads_to_the_batch_behind_it(tmp_path: Path) -> None:
    config = TopicConfig(index_interval_bytes=300, cleanup_policy=frozenset({"compact"}))
    log = new_log(str(tmp_path), config)
    chance = random.Random(3)
    for _ in range(800):
        put(log, (b"%d" % chance.randrange(150), bytes(80)))
    compact(log)
    segment = log.segments[0]
    spans = spans_of(segment)
    assert len(spans) == 150
    for offset in range(800):
        assert segment.find(offset) == expected(spans, offset)


def test_the_last_batches_are_remembered(tmp_path: Path) -> None:
    log = filled(tmp_path, 4096)
    segment = log.active
    spans = spans_of(segment)
    for span in spans[-60:]:
        for offset in (span.base_offset, span.last_offset):
            assert segment.find_recent(offset) == (span.position, span.size_bytes)
    assert segment.find_recent(spans[0].base_offset) is None
    log.roll()
    assert segment.find_recent(spans[-1].base_offset) is None


@pytest.mark.parametrize("kept", [0, 1, 57, 399])
def test_a_segment_that_is_cut_ends_where_the_batch_began(tmp_path: Path, kept: int) -> None:
    log = filled(tmp_path, 500)
    segment = log.active
    spans = spans_of(segment)
    segment.truncate(spans[kept])
    assert spans_of(segment) == spans[:kept]
    assert segment.find(spans[kept].base_offset) is None
    assert all(entry[1] < spans[kept].position for entry in segment.offset_index.read_all())
    assert segment.max_timestamp == max(
        (START_MS + n + span.last_offset - span.base_offset for n, span in enumerate(spans[:kept])),
        default=-1,
    )


def test_lengths_that_lie_are_damage_and_no_endless_loop(tmp_path: Path) -> None:
    log = filled(tmp_path, 10**9, count=3)
    segment = log.active
    second = spans_of(segment)[1]
    segment.log_file().write([bytes(4)], second.position + 8)
    with pytest.raises(LogCorrupt, match=f"at {second.position} claims"):
        segment.find(second.last_offset)
    with pytest.raises(LogCorrupt, match=f"at {second.position} claims"):
        list(segment.scan_headers(0, segment.size_bytes))
