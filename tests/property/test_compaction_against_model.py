"""Compaction against a list of everything that was ever written.

Records, tombstones and transactions come while cleanings are under way; cleanings stop at any of their
steps, power fails at any operation of the disk, time passes. At every moment, of what was decided:

- each record that is there is one that was written, at the offset and with the time that it always had;
- the newest record of each key is there, unless it is a tombstone whose time is over;
- nothing of an aborted transaction that a reader of committed data could see;
- a producer's sequence is known as it was before;
- the segments reach from the log's start to its end, one after the other.

After a cleaning to the end, each key has one record below the active segment.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from tests.support.compaction import MEMORY, measured, new_cleaning, steps_of
from tests.support.logs import StandingClock, append, place_in, storage_on
from tests.support.simulated_disk import PowerLoss, SimulatedDisk

from mainstem.config.topic_options import TopicConfig
from mainstem.log.compaction import offset_map
from mainstem.log.compaction.cleaning import CleaningMemory
from mainstem.log.loading import create_log, recover_log
from mainstem.log.partition_log import PartitionLog
from mainstem.log.transaction_index import AbortedTransaction
from mainstem.model.records import NewRecord, build_batch, decode_records

RETENTION_MS = 10_000
CONFIG = TopicConfig(
    cleanup_policy=frozenset({"compact"}),
    segment_bytes=3_000,
    index_interval_bytes=150,
    delete_retention_ms=RETENTION_MS,
)
SMALL_BUFFERS = CleaningMemory(64 * 1024, 0.9, 200)
KEYS = [b"key %d" % number for number in range(6)] + [b"a long key " * 5]
PRODUCERS = [1, 2, 3]
STEPS = 80


@dataclass
class Written:
    key: bytes
    value: bytes | None
    time_ms: int
    is_aborted: bool = False


@dataclass
class Open:
    """A transaction that is not decided yet."""

    first_offset: int
    offsets: list[int] = field(default_factory=list)


class World:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.disk = SimulatedDisk(seed)
        self.clock = StandingClock()
        self.place = place_in("/logs", CONFIG)
        self.log: PartitionLog = create_log(storage_on(self.disk, self.clock), self.place, sync=True)
        self.disk.sync_everything()
        self.written: dict[int, Written] = {}
        self.end = 0
        self.open: dict[int, Open] = {}
        self.sequences = dict.fromkeys(PRODUCERS, 0)
        self.cleaning: Iterator[str] | None = None
        self.cleanings = 0

    # --- writing

    def _some_records(self) -> list[tuple[bytes, bytes | None]]:
        chance = self.chance
        return [
            (chance.choice(KEYS), None if chance.random() < 0.2 else chance.randbytes(chance.randrange(60)))
            for _ in range(chance.randint(1, 5))
        ]

    def write(self) -> None:
        for _ in range(self.chance.randint(1, 4)):
            self._append(self._some_records(), self.chance.choice([0, 0, 1, 4]), None)

    def write_in_a_transaction(self) -> None:
        records, producer = self._some_records(), self.chance.choice(PRODUCERS)
        transaction = self.open.setdefault(producer, Open(self.end))
        transaction.offsets += range(self.end, self.end + len(records))
        self._append(records, 0, producer)

    def _append(self, records: list[tuple[bytes, bytes | None]], codec: int, producer: int | None) -> None:
        now_ms = self.clock.time_ms
        made = [NewRecord(key, value, timestamp_ms=now_ms + n) for n, (key, value) in enumerate(records)]
        if producer is None:
            batch = build_batch(made, codec=codec)
        else:
            batch = build_batch(
                made,
                codec=codec,
                producer_id=producer,
                producer_epoch=0,
                base_sequence=self.sequences[producer],
                is_transactional=True,
            )
            self.sequences[producer] += len(records)
        assert append(self.log, batch) == self.end
        for number, (key, value) in enumerate(records):
            self.written[self.end + number] = Written(key, value, now_ms + number)
        self.end += len(records)

    def decide(self) -> None:
        if not self.open:
            return
        producer, commit = self.chance.choice(sorted(self.open)), self.chance.random() < 0.5
        transaction = self.open.pop(producer)
        key, value = struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 0)
        batch = build_batch(
            [NewRecord(key, value, timestamp_ms=self.clock.time_ms)],
            producer_id=producer,
            producer_epoch=0,
            is_transactional=True,
            is_control=True,
        )
        marker = append(self.log, batch)
        self.end = marker + 1
        if not commit:
            stable = min((each.first_offset for each in self.open.values()), default=marker + 1)
            aborted = AbortedTransaction(producer, transaction.first_offset, marker, stable)
            assert self.log.active.transaction_index.read_all()[-1] == aborted
            for offset in transaction.offsets:
                self.written[offset].is_aborted = True

    def roll(self) -> None:
        if self.log.active.size_bytes:
            self.log.roll()

    def time_passes(self) -> None:
        self.clock.time_ms += self.chance.randint(1, RETENTION_MS)

    # --- cleaning

    @property
    def stable_offset(self) -> int:
        return min((each.first_offset for each in self.open.values()), default=self.end)

    def begin_a_cleaning(self, memory: CleaningMemory = MEMORY) -> None:
        cleanable = measured(self.log, limit_offset=self.stable_offset)
        if self.cleaning is None and cleanable.cleanable_bytes:
            self.cleaning = steps_of(self.log, new_cleaning(self.log, cleanable, memory))
            self.cleanings += 1

    def go_on_with_it(self) -> None:
        if self.cleaning is None:
            self.begin_a_cleaning(self.chance.choice([MEMORY, SMALL_BUFFERS]))
        elif next(self.cleaning, None) is None:
            self.cleaning = None

    def clean_to_the_end(self) -> None:
        while self.cleaning is not None:
            self.go_on_with_it()
        self.begin_a_cleaning()
        if self.cleaning is None:
            return
        while self.cleaning is not None:
            self.go_on_with_it()
        seen: set[bytes | None] = set()
        for offset, record in sorted(self.present().items()):
            if offset < self.log.first_dirty_offset:
                assert record.key not in seen
                seen.add(record.key)

    # --- crashes

    def crash(self) -> None:
        self._make_durable()
        self._recover()

    def crash_in_a_cleaning(self) -> None:
        self._make_durable()
        if self.cleaning is None:
            self.begin_a_cleaning()
        if self.cleaning is None:
            return
        self.disk.crash_at = self.disk.operations + self.chance.randint(1, 25)
        with suppress(PowerLoss):
            for _ in self.cleaning:
                pass
        self._recover()

    def _make_durable(self) -> None:
        """So that what a crash loses is never what was written, which other tests are about."""
        self.log.flush()
        self.log.active.sync(with_indexes=True)
        self.log.active.transaction_index.sync()
        self.disk.sync_directory(self.log.directory)

    def _recover(self) -> None:
        self.cleaning = None
        point, dirty = self.log.recovery_point, self.log.first_dirty_offset
        if self.chance.random() < 0.5:
            self.disk.lose_power()
        else:
            self.disk.kill_process()
        storage = storage_on(self.disk, self.clock)
        if self.chance.random() < 0.5:  # the whole log has to tell what its producers did
            point = 0
            for name in self.disk.list(self.log.directory):
                if name.endswith(".snapshot"):
                    self.disk.remove(f"{self.log.directory}/{name}")
        self.log = recover_log(storage, self.place, recovery_point=point, log_start_offset=0)
        self.log.first_dirty_offset = dirty
        assert not [name for name in self.disk.list(self.log.directory) if "swap" in name or "clean" in name]

    # --- what must hold

    def present(self) -> dict[int, Written]:
        found: dict[int, Written] = {}
        log = self.log
        aborted = {offset for offset, record in self.written.items() if record.is_aborted}
        for header, batch in log.read_batches(0, log.log_end_offset, 1 << 16):
            if header.is_control:
                continue
            for record in decode_records(batch, header=header):
                offset = header.base_offset + record.offset_delta
                assert header.base_offset <= offset <= header.last_offset
                assert record.key is not None
                assert header.base_timestamp + record.timestamp_delta <= header.max_timestamp
                if offset in aborted:
                    assert self.is_hidden(offset, header.producer_id)
                    continue
                found[offset] = Written(
                    record.key, record.value, header.base_timestamp + record.timestamp_delta
                )
        return found

    def is_hidden(self, offset: int, producer: int) -> bool:
        """Whether the indexes tell a reader of committed data to leave this offset out."""
        return any(
            entry.producer_id == producer and entry.first_offset <= offset <= entry.last_offset
            for segment in self.log.segments
            for entry in segment.transaction_index.read_all()
        )

    def the_log_is_what_was_written(self) -> None:
        log = self.log
        assert log.log_end_offset == self.end
        found = self.present()
        for offset, record in found.items():
            assert record == self.written[offset]
        newest: dict[bytes, int] = {}
        undecided = {offset for each in self.open.values() for offset in each.offsets}
        for offset, record in sorted(self.written.items()):
            if not record.is_aborted and offset not in undecided:
                newest[record.key] = offset
        for offset in newest.values():
            record = self.written[offset]
            may_be_gone = record.value is None and self.clock.time_ms >= record.time_ms + RETENTION_MS
            assert offset in found or may_be_gone
        assert undecided <= set(found)

    def segments_follow_each_other(self) -> None:
        segments = self.log.segments
        for segment, following in pairwise(segments):
            *_, (_, last) = segment.scan_headers(0, segment.size_bytes)
            assert last.next_offset == following.base_offset
        positions = [self.log.locate(o, 1, self.end, at_least_one=True) for o in range(0, self.end, 7)]
        assert None not in positions

    def producers_are_known(self) -> None:
        for producer, sequence in self.sequences.items():
            if sequence:
                entry = self.log.producers.get(producer)
                assert entry is not None
                assert entry.last_sequence == sequence - 1
        first = next(iter(self.log.producers.open_transactions.values()), None)
        assert first == min((each.first_offset for each in self.open.values()), default=None)

    def check(self) -> None:
        self.the_log_is_what_was_written()
        self.segments_follow_each_other()
        self.producers_are_known()


@pytest.mark.parametrize("seed", range(80))
def test_compaction_keeps_its_promises(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:
        monkeypatch.setattr(offset_map, "CompiledOffsetMap", None)  # as where there was no compiler
    world = World(seed)
    weighted = {
        world.write: 30,
        world.write_in_a_transaction: 15,
        world.decide: 12,
        world.roll: 15,
        world.time_passes: 5,
        world.go_on_with_it: 25,
        world.clean_to_the_end: 3,
        world.crash: 2,
        world.crash_in_a_cleaning: 4,
    }
    for _ in range(STEPS):
        (act,) = world.chance.choices(list(weighted), weights=list(weighted.values()))
        act()
        world.check()
    while world.open:
        world.decide()
    world.roll()
    world.clean_to_the_end()
    world.check()
    assert world.cleanings > 0
