"""One cleaning after the other: what is kept, what goes, and what a batch looks like that lost something."""

from __future__ import annotations

import os
import struct
import threading
from pathlib import Path

import pytest
from tests.support.compaction import (
    MEMORY,
    compact,
    headers_in,
    measured,
    new_cleaning,
    put,
    records_in,
    steps_of,
)
from tests.support.logs import START_MS, StandingClock, append, new_log, recovered, storage_on

from mainstem.config.topic_options import TopicConfig
from mainstem.log.compaction import offset_map
from mainstem.log.compaction.batch_filter import BatchFilter
from mainstem.log.compaction.cleaning import Cleaning, CleaningMemory
from mainstem.log.compaction.offset_map import OffsetMap
from mainstem.log.compaction.pace import CleaningStopped, Pace, Throttle
from mainstem.log.compaction.transactions import TransactionTracker
from mainstem.log.errors import LogCorrupt
from mainstem.log.partition_log import PartitionLog
from mainstem.log.segment_recovery import has_sound_indexes
from mainstem.log.transaction_index import AbortedTransaction
from mainstem.model.batch import DELETE_HORIZON_BIT, parse_header
from mainstem.model.records import NewRecord, build_batch, decode_records

DAY_MS = 86_400_000
COMPACT = frozenset({"compact"})
CONFIG = TopicConfig(cleanup_policy=COMPACT, index_interval_bytes=100)


@pytest.fixture(params=["as installed", "without a compiler"], autouse=True)
def _kind_of_map(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without a compiler":
        monkeypatch.setattr(offset_map, "CompiledOffsetMap", None)


def values(log: PartitionLog) -> dict[int, tuple[bytes | None, bytes | None]]:
    return {offset: record[:2] for offset, record in records_in(log).items()}


def transactional(
    log: PartitionLog, producer_id: int, sequence: int, *pairs: tuple[bytes, bytes | None], epoch: int = 0
) -> int:
    records = [NewRecord(key, value, timestamp_ms=START_MS) for key, value in pairs]
    batch = build_batch(
        records,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=True,
    )
    return append(log, batch)


def marker(log: PartitionLog, producer_id: int, *, commit: bool, epoch: int = 0) -> int:
    batch = build_batch(
        [NewRecord(struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 0), timestamp_ms=START_MS)],
        producer_id=producer_id,
        producer_epoch=epoch,
        is_transactional=True,
        is_control=True,
    )
    return append(log, batch)


def controls(log: PartitionLog) -> list[int]:
    return [header.base_offset for header in headers_in(log) if header.is_control and header.record_count]


# --- keys


def test_of_each_key_the_newest_record_is_kept_at_its_offset(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)
    put(log, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    put(log, (b"c", b"1"), (b"b", b"2"))
    log.roll()
    put(log, (b"c", b"2"), (b"d", b"1"))
    compact(log)
    assert values(log) == {2: (b"a", b"2"), 4: (b"b", b"2"), 5: (b"c", b"2"), 6: (b"d", b"1")}
    assert [(h.base_offset, h.last_offset) for h in headers_in(log)] == [(0, 2), (3, 4), (5, 6)]
    assert log.log_end_offset == 7
    assert len(log.segments) == 2
    assert log.first_dirty_offset == 7


def test_the_active_segment_and_what_is_undecided_stay(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)
    for _ in range(3):
        put(log, (b"a", b"x"))
        log.roll()
    put(log, (b"a", b"y"))
    cleaning = new_cleaning(log, measured(log, limit_offset=2))
    list(steps_of(log, cleaning))
    assert sorted(values(log)) == [1, 2, 3]
    compact(log, roll=False)
    assert sorted(values(log)) == [2, 3]


def test_the_last_batch_of_a_segment_stays_as_a_header(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)
    put(log, (b"b", b"1"))
    put(log, (b"a", b"1"))
    log.roll()
    compact(log)
    put(log, (b"a", b"2"))
    log.roll()
    small = TopicConfig(cleanup_policy=COMPACT, segment_bytes=1)
    log.update_config(small)  # nothing may be merged
    compact(log)
    first = headers_in(log)[:2]
    assert [(h.base_offset, h.last_offset, h.record_count) for h in first] == [(0, 0, 1), (1, 1, 0)]
    log.update_config(CONFIG)
    put(log, (b"z", b"1"))
    compact(log)
    assert [h.record_count for h in headers_in(log)] == [1, 1, 1]


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_a_batch_that_loses_records_keeps_its_codec_and_times(tmp_path: Path, codec: int) -> None:
    log = new_log(str(tmp_path), CONFIG)
    put(log, *((b"%d" % n, b"value" * 10) for n in range(20)), codec=codec, time_ms=START_MS)
    put(log, *((b"%d" % n, b"newer") for n in range(15, 20)), codec=codec, time_ms=START_MS + 500)
    compact(log)
    found = headers_in(log)
    assert [h.codec for h in found] == [codec, codec]
    assert (found[0].record_count, found[0].last_offset_delta) == (15, 19)
    assert found[0].max_timestamp == START_MS + 14
    assert found[1].max_timestamp == START_MS + 504
    assert {offset: record[2] for offset, record in records_in(log).items()} == {
        **{offset: START_MS + offset for offset in range(15)},
        **{20 + n: START_MS + 500 + n for n in range(5)},
    }


def test_a_batch_that_loses_nothing_is_copied_as_it_is(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)
    put(log, *((b"%d" % n, b"value" * 20) for n in range(300)), codec=4)
    put(log, (b"x" * 200, b"long key"), (b"x" * 100_000, b"longer"))
    log.roll()
    before = Path(log.segments[0].log_path).read_bytes()
    compact(log)
    assert Path(log.segments[0].log_path).read_bytes() == before


def test_records_without_a_key_go(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), TopicConfig())
    put(log, (b"a", b"1"), (None, b"from before"), (b"b", b"1"))
    log.update_config(CONFIG)
    assert compact(log).keyless_records == 1
    assert sorted(values(log)) == [0, 2]


def test_log_append_time_stays(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)
    records = [NewRecord(b"%d" % (n % 2), b"v", timestamp_ms=5) for n in range(4)] + [
        NewRecord(b"gone", None, timestamp_ms=5)
    ]
    append(log, build_batch(records, log_append_time_ms=START_MS))
    compact(log)
    assert {offset: record[2] for offset, record in records_in(log).items()} == dict.fromkeys(
        (2, 3, 4), START_MS
    )


# --- tombstones


def test_a_tombstone_stays_for_its_time_and_then_goes(tmp_path: Path) -> None:
    clock = StandingClock()
    log = new_log(str(tmp_path), CONFIG, storage=storage_on(clock=clock))
    put(log, (b"a", b"1"), (b"b", b"1"))
    put(log, (b"a", None), (b"c", b"1"))
    compact(log)
    kept = {1: (b"b", b"1"), 2: (b"a", None), 3: (b"c", b"1")}
    assert values(log) == kept
    header = headers_in(log)[1]
    assert header.attributes & DELETE_HORIZON_BIT
    assert header.base_timestamp == clock.time_ms + DAY_MS
    assert header.max_timestamp == START_MS + 1
    assert [record[2] for record in records_in(log).values()] == [START_MS + 1, START_MS, START_MS + 1]

    clock.time_ms += DAY_MS - 1
    put(log, (b"x", b"1"))
    compact(log)
    assert values(log).items() >= kept.items()
    assert headers_in(log)[1].base_timestamp == START_MS + DAY_MS  # the horizon does not move on

    clock.time_ms += 1
    put(log, (b"x", b"2"))
    compact(log)
    assert values(log) == {1: (b"b", b"1"), 3: (b"c", b"1"), 5: (b"x", b"2")}


def test_a_key_that_comes_back_after_its_tombstone_is_kept(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)
    put(log, (b"a", b"1"))
    put(log, (b"a", None))
    put(log, (b"a", b"2"))
    compact(log)
    assert values(log) == {2: (b"a", b"2")}
    assert not headers_in(log)[0].attributes & DELETE_HORIZON_BIT


# --- producers


def test_the_last_batch_of_each_producer_stays_as_a_header_until_it_writes_again(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)

    def produce(producer_id: int, sequence: int, key: bytes) -> None:
        records = [NewRecord(key, b"v", timestamp_ms=START_MS)] * 3
        append(log, build_batch(records, producer_id=producer_id, producer_epoch=2, base_sequence=sequence))

    produce(1, 0, b"a")
    produce(1, 3, b"a")
    produce(2, 0, b"a")
    produce(2, 3, b"b")
    put(log, (b"a", b"w"), (b"b", b"w"))
    compact(log)
    assert [
        (h.base_offset, h.last_offset, h.producer_id, h.base_sequence, h.record_count)
        for h in headers_in(log)
    ] == [
        (3, 5, 1, 3, 0),
        (9, 11, 2, 3, 0),
        (12, 13, -1, -1, 2),
    ]
    again = recovered(log, recovery_point=0)
    for producer_id in (1, 2):
        entry = again.producers.get(producer_id)
        assert entry is not None
        assert (entry.epoch, entry.last_sequence) == (2, 5)
    produce(1, 6, b"c")
    compact(log)
    assert [h.base_offset for h in headers_in(log)] == [9, 12, 14]


# --- transactions


def test_aborted_records_go_and_committed_ones_stay(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)
    put(log, (b"a", b"kept"))
    transactional(log, 7, 0, (b"a", b"never was"), (b"z", b"never was"))
    transactional(log, 8, 0, (b"b", b"committed"))
    marker(log, 7, commit=False)
    marker(log, 8, commit=True)
    compact(log)
    assert values(log) == {0: (b"a", b"kept"), 3: (b"b", b"committed")}
    assert controls(log) == [4, 5]
    assert log.segments[0].transaction_index.read_all() == [AbortedTransaction(7, 1, 4, 3)]


def test_a_transaction_that_was_aborted_in_a_later_segment_is_known_as_aborted(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)
    transactional(log, 7, 0, (b"a", b"never was"))
    log.roll()
    transactional(log, 7, 1, (b"b", b"never was"))
    log.roll()
    marker(log, 7, commit=False)
    put(log, (b"c", b"1"))
    compact(log)
    assert values(log) == {3: (b"c", b"1")}
    assert controls(log) == [2]


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_stays_until_its_transaction_is_gone_and_the_horizon_passed(
    tmp_path: Path, commit: bool
) -> None:
    clock = StandingClock()
    log = new_log(str(tmp_path), CONFIG, storage=storage_on(clock=clock))
    transactional(log, 7, 0, (b"a", b"1"))
    end = marker(log, 7, commit=commit)
    put(log, (b"a", b"2"))
    log.producers.replace({})  # it expired
    compact(log)
    assert controls(log) == [end]  # a batch was there when it was met

    put(log, (b"b", b"1"))
    compact(log)
    assert controls(log) == [end]
    header = next(h for h in headers_in(log) if h.is_control)
    assert header.attributes & DELETE_HORIZON_BIT
    assert header.base_timestamp == clock.time_ms + DAY_MS
    assert log.segments[0].transaction_index.read_all() == []

    clock.time_ms += DAY_MS
    put(log, (b"b", b"2"))
    compact(log)
    assert controls(log) == []
    assert values(log) == {2: (b"a", b"2"), 4: (b"b", b"2")}


def test_the_marker_that_carries_a_producers_epoch_stays_as_a_header(tmp_path: Path) -> None:
    clock = StandingClock()
    log = new_log(str(tmp_path), CONFIG, storage=storage_on(clock=clock))
    transactional(log, 7, 0, (b"a", b"1"))
    end = marker(log, 7, commit=True, epoch=1)  # transaction version 2: an epoch of its own
    put(log, (b"a", b"2"))
    for _ in range(3):
        compact(log)
        clock.time_ms += DAY_MS
        put(log, (b"b", b"x"))
    compact(log)
    header = next(h for h in headers_in(log) if h.base_offset == end)
    assert (header.record_count, header.producer_epoch, header.is_control) == (0, 1, True)
    again = recovered(log, recovery_point=0)
    assert again.log_end_offset == log.log_end_offset


# --- memory, groups, files


def test_what_the_map_has_no_room_for_is_left_to_the_next_cleaning(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)
    for round_ in range(2):
        for number in range(400):
            put(log, *((b"%d" % (number * 10 + n), b"%d" % round_) for n in range(10)))
    memory = CleaningMemory(64 * 1024, 0.9, 32_768)
    ends = []
    compact(log, memory=memory)
    ends.append(log.first_dirty_offset)
    while log.first_dirty_offset < log.active.base_offset:
        compact(log, roll=False, memory=memory)
        ends.append(log.first_dirty_offset)
    assert len(ends) > 2
    assert ends == sorted(set(ends))
    assert values(log) == {4000 + n: (b"%d" % n, b"1") for n in range(4000)}


def test_a_batch_that_never_fits_is_told_with_the_option_to_raise(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)
    put(log, *((b"%d" % n, b"") for n in range(5_000)))
    with pytest.raises(LogCorrupt, match=r"raise log\.cleaner\.dedupe\.buffer\.size"):
        compact(log, memory=CleaningMemory(64 * 1024, 0.9, 4096))


def test_small_segments_become_one_up_to_the_size_of_a_segment(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)
    for number in range(20):
        put(log, (b"%d" % number, b"v" * 500))
        log.roll()
    log.update_config(TopicConfig(cleanup_policy=COMPACT, segment_bytes=3_000))
    compact(log, roll=False)
    sizes = [segment.size_bytes for segment in log.segments[:-1]]
    assert max(sizes) <= 3_000
    assert len(sizes) == 4
    assert sorted(values(log)) == list(range(20))


def test_the_files_are_what_recovery_and_readers_expect(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)
    for number in range(400):
        put(log, (b"%d" % (number % 100), b"v" * 50), time_ms=START_MS + number)
        if number % 90 == 89:
            log.roll()
    compact(log)
    expected = values(log)
    assert sorted(expected) == list(range(300, 400))
    segment = log.segments[0]
    assert os.path.getsize(segment.log_path) == segment.size_bytes
    assert has_sound_indexes(segment, log.storage.disk)
    for offset in range(400):
        found = log.locate(offset, 1, log.log_end_offset, at_least_one=True)
        assert found is not None
        header = parse_header(found.read())
        assert header.base_offset == max(offset, 300)
        at = log.offset_for_timestamp(START_MS + offset)
        assert at is not None
        assert at.offset == max(offset, 300)
    newest = log.offset_of_max_timestamp()
    assert newest is not None
    assert newest.offset == 399
    names = {name for name in os.listdir(log.directory) if not name.endswith(".deleted")}
    assert names == {
        *(f"{0:020d}{suffix}" for suffix in (".log", ".index", ".timeindex")),
        *(f"{400:020d}{suffix}" for suffix in (".log", ".snapshot")),
        "partition.metadata",
    }
    log.storage.clock.time_ms += log.config.file_delete_delay_ms  # type: ignore[attr-defined]
    log.purge_deleted(log.storage.clock.now_ms())
    assert set(os.listdir(log.directory)) == names
    assert values(recovered(log, recovery_point=0)) == expected
    assert values(recovered(log)) == expected


def test_who_reads_the_old_segments_sees_them_to_the_end(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)
    for number in range(300):
        put(log, (b"k", b"%d" % number))
        if number % 100 == 99:
            log.roll()
    reader = log.read_batches(0, log.log_end_offset, 4096)
    first = next(reader)[0].base_offset
    old = log.segments[0]
    held = log.locate(120, 10_000, log.log_end_offset, at_least_one=True)
    assert held is not None
    bytes_before = held.read()
    compact(log, roll=False)
    log.purge_deleted(2**62)
    assert [first, *(header.base_offset for header, _ in reader)] == list(range(300))
    assert held.read() == bytes_before
    found = old.find(57)
    assert found is not None
    assert (found.base_offset, found.last_offset) == (57, 57)
    assert sorted(values(log)) == [299]


def test_a_damaged_batch_stops_the_cleaning_and_nothing_changes(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)
    put(log, (b"a", b"1"))
    put(log, (b"a", b"2"))
    log.roll()
    path = Path(log.segments[0].log_path)
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)
    before = sorted(os.listdir(log.directory))
    with pytest.raises(LogCorrupt, match="checksum of the batch at offset 1 is wrong"):
        compact(log)
    assert sorted(os.listdir(log.directory)) == before
    assert path.read_bytes() == content


def test_a_cleaning_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), CONFIG)
    for number in range(2_000):
        put(log, (b"%d" % number, b"v"))
    log.roll()
    before = sorted(os.listdir(log.directory))
    stop = threading.Event()
    pace = Pace(Throttle(log.storage.clock.monotonic_ms, 1e30), stop, lambda: False)
    cleaning = Cleaning(log.storage, log.directory, log.config, measured(log), {}, MEMORY, pace)
    cleaning.build_map()
    stop.set()
    with pytest.raises(CleaningStopped):
        cleaning.clean(cleaning.groups()[0])
    assert sorted(os.listdir(log.directory)) == before


def test_retention_waits_for_a_swap_and_a_swap_for_its_segments(tmp_path: Path) -> None:
    clock = StandingClock()
    log = new_log(
        str(tmp_path),
        TopicConfig(cleanup_policy=frozenset({"compact", "delete"}), retention_ms=1_000),
        storage=storage_on(clock=clock),
    )
    put(log, (b"a", b"1"))
    log.roll()
    put(log, (b"a", b"2"))
    log.flush()
    group = log.segments[:1]
    clock.time_ms += 10_000
    assert log.begin_swap(group)
    assert log.delete_due_segments(clock.time_ms, limit_offset=2) == 0
    log.end_swap(())
    assert log.delete_due_segments(clock.time_ms, limit_offset=1) == 1
    assert not log.begin_swap(group)
    assert not log.begin_swap(log.segments)


def test_a_filter_never_touches_what_the_map_does_not_reach() -> None:
    batch = memoryview(build_batch([NewRecord(b"a", b"1"), NewRecord(b"a", b"2")], base_offset=10))
    newest = OffsetMap(64 * 1024, 0)
    newest.put(b"a", 11)
    newest.latest_offset = 9
    rule = BatchFilter(
        newest, TransactionTracker(), {}, {}, now_ms=0, delete_retention_ms=0, breathe=lambda _: None
    )
    assert rule.keep(parse_header(batch), batch) is batch
    newest.latest_offset = 11
    kept = rule.keep(parse_header(batch), batch)
    assert kept is not None
    assert [(record.offset_delta, record.value) for record in decode_records(kept)] == [(1, b"2")]


def test_a_marker_stays_for_ever_while_its_records_do(tmp_path: Path) -> None:
    clock = StandingClock()
    log = new_log(str(tmp_path), CONFIG, storage=storage_on(clock=clock))
    first = transactional(log, 7, 0, (b"a", b"1"))
    end = marker(log, 7, commit=True)
    log.producers.replace({})
    for number in range(4):
        put(log, (b"b", b"%d" % number))
        compact(log)
        clock.time_ms += 2 * DAY_MS
    assert controls(log) == [end]
    assert values(log)[first] == (b"a", b"1")
    again = recovered(log, recovery_point=0)
    assert not again.producers.open_transactions


def test_of_the_markers_that_carry_an_epoch_only_the_last_stays(tmp_path: Path) -> None:
    """As of a coordinator, which writes the offsets of transactions without sequences."""
    clock = StandingClock()
    log = new_log(str(tmp_path), CONFIG, storage=storage_on(clock=clock))

    def commit_offsets(value: bytes) -> None:
        batch = build_batch(
            [NewRecord(b"offset", value, timestamp_ms=START_MS)],
            producer_id=7,
            producer_epoch=0,
            base_sequence=-1,
            is_transactional=True,
        )
        append(log, batch)
        marker(log, 7, commit=True)

    for number in range(10):
        commit_offsets(b"%d" % number)
    for number in range(10, 14):
        compact(log)
        clock.time_ms += 2 * DAY_MS
        commit_offsets(b"%d" % number)
    compact(log)
    assert list(values(log).values()) == [(b"offset", b"13")]
    markers = [h for h in headers_in(log) if h.is_control]
    assert len(markers) <= 5
    entry = recovered(log, recovery_point=0).producers.get(7)
    assert entry is not None
    assert entry.epoch == 0
