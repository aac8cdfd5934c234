from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.logs import START_MS, StandingClock, append, batch_of, new_log, storage_on
from tests.support.simulated_disk import SimulatedDisk

from mainstem.config.topic_options import TopicConfig
from mainstem.log.partition_log import PartitionLog
from mainstem.log.retention import PendingDeletions, count_due_segments

FOREVER = TopicConfig(retention_ms=-1, retention_bytes=-1)


def log_of(folder: Path, segments: int, *, time_ms: int = START_MS) -> PartitionLog:
    """Segments of one batch each, a minute apart; the last is active."""
    log = new_log(str(folder), FOREVER, storage=storage_on(clock=StandingClock()))
    for number in range(segments):
        if number:
            log.roll()
        append(log, batch_of(bytes(100), time_ms=time_ms + 60_000 * number))
    return log


def due(
    log: PartitionLog,
    config: TopicConfig,
    *,
    now_ms: int = START_MS,
    limit: int | None = None,
    start: int = 0,
) -> int:
    return count_due_segments(
        log.segments,
        config,
        now_ms=now_ms,
        limit_offset=log.log_end_offset if limit is None else limit,
        log_start_offset=start,
        log_end_offset=log.log_end_offset,
    )


def test_segments_go_by_the_age_of_their_newest_record(tmp_path: Path) -> None:
    log = log_of(tmp_path, 5)
    config = TopicConfig(retention_ms=60_000)
    assert due(log, config, now_ms=START_MS + 60_000) == 0
    assert due(log, config, now_ms=START_MS + 60_001) == 1
    assert due(log, config, now_ms=START_MS + 180_001) == 3
    assert due(log, config, now_ms=START_MS + 999_999) == 5  # all: the active one is to be rolled
    assert due(log, TopicConfig(retention_ms=-1), now_ms=2**60) == 0


def test_the_oldest_go_as_long_as_enough_is_left(tmp_path: Path) -> None:
    log = log_of(tmp_path, 5)
    size = log.segments[0].size_bytes
    for kept in range(6):
        config = TopicConfig(retention_ms=-1, retention_bytes=kept * size)
        assert due(log, config) == 5 - kept
    assert due(log, TopicConfig(retention_ms=-1, retention_bytes=3 * size - 1)) == 2


def test_what_lies_below_the_log_start_goes_whatever_the_policy(tmp_path: Path) -> None:
    log = log_of(tmp_path, 4)
    compact = TopicConfig(cleanup_policy=frozenset({"compact"}), retention_ms=1)
    assert due(log, compact, now_ms=2**60) == 0
    assert due(log, compact, start=2) == 2
    assert due(log, compact, start=4) == 3  # the active one is not dropped for it
    both = TopicConfig(cleanup_policy=frozenset({"compact", "delete"}), retention_ms=60_000)
    assert due(log, both, now_ms=START_MS + 60_001) == 1


def test_nothing_at_or_above_the_limit_goes(tmp_path: Path) -> None:
    log = log_of(tmp_path, 4)
    config = TopicConfig(retention_ms=1)
    for limit, count in ((0, 0), (1, 1), (3, 3), (4, 4)):
        assert due(log, config, now_ms=2**60, limit=limit) == count


def test_an_empty_active_segment_never_goes(tmp_path: Path) -> None:
    log = log_of(tmp_path, 3)
    log.roll()
    assert due(log, TopicConfig(retention_ms=1), now_ms=2**60) == 3


@pytest.mark.parametrize("age_ms", [999, 1_001])
def test_records_without_a_time_are_as_old_as_our_knowledge_of_them(tmp_path: Path, age_ms: int) -> None:
    log = new_log(str(tmp_path), FOREVER)
    append(log, batch_of(b"x", time_ms=-1))
    log.roll()
    assert due(log, TopicConfig(retention_ms=1_000), now_ms=START_MS + age_ms) == (age_ms > 1_000)


def test_files_wait_for_their_delay_and_what_comes_meanwhile_is_kept() -> None:
    disk = SimulatedDisk()
    for name in "abc":
        disk.open(f"/{name}", create=True)
    pending = PendingDeletions()
    pending.add(10, ["/a", "/missing"])
    pending.add(20, ["/b"])
    assert (pending.purge(disk, 9), len(pending)) == (0, 2)
    disk.fault = lambda operation, path: (
        pending.add(30, ["/c"]) if (operation, path) == ("remove", "/a") else None
    )
    assert (pending.purge(disk, 10), len(pending)) == (2, 2)  # one was added while this one was removed
    disk.fault = None
    assert sorted(disk.list("/")) == ["b", "c"]
    assert (pending.purge(disk, 30), len(pending), disk.list("/")) == (2, 0, [])
