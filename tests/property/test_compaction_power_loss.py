"""Seeded power losses over topics that are compacted while the journal holds their newest appends.

What was acknowledged as on disk counts: of each key, the newest acknowledged record or a later one is there
afterwards, at its own offset. Replay neither brings back what was compacted away nor leaves out what the
files lost.
"""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from tests.support.compaction import compact, measured, new_cleaning, put_batch, steps_of
from tests.support.logs import StandingClock, staged
from tests.support.simulated_disk import PowerLoss, SimulatedDisk

from mainstem.config.topic_options import TopicConfig
from mainstem.log.directories import DirectorySettings, LogDirectories
from mainstem.log.durability import Commit, CommitLimits, DirectoryCommit
from mainstem.log.log_directory import JournalSize, Owner
from mainstem.log.open_files import OpenFiles
from mainstem.log.partition_log import PartitionLog
from mainstem.log.storage import LogStorage
from mainstem.model.ids import TopicId, TopicPartition
from mainstem.model.records import decode_records

PATH = "/data"
CONFIG = TopicConfig(
    cleanup_policy=frozenset({"compact"}), segment_bytes=2_500, index_interval_bytes=200, acks_after="disk"
)
LIMITS = CommitLimits(direct_bytes=3_000, max_round_bytes=20_000)
TOPICS = [TopicPartition("one", 0), TopicPartition("two", 0)]
KEYS = [b"key %d" % number for number in range(5)]
Sent = dict[int, tuple[bytes, bytes]]  # by offset


class World:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.disk = SimulatedDisk(seed)
        self.disk.make_directory(PATH)
        self.disk.sync_directory("/")
        self.clock = StandingClock()
        self.sent: dict[TopicPartition, Sent] = {topic: {} for topic in TOPICS}
        self.acknowledged = dict.fromkeys(TOPICS, 0)  # end offsets
        self.swaps = 0
        self.start()
        self.directories.create_many(
            [(topic, TopicId(topic.topic.encode().ljust(16, b".")), CONFIG) for topic in TOPICS]
        )

    def start(self) -> None:
        storage = LogStorage(self.disk, self.clock, OpenFiles(self.disk, 8))
        settings = DirectorySettings([PATH], 1, JournalSize(16 * 4096, 3), Owner("c", 1))
        self.directories = LogDirectories(storage, settings)
        self.directories.open(CONFIG)
        self.commits = DirectoryCommit(self.directories.journals[PATH], LIMITS)

    def log(self, topic: TopicPartition) -> PartitionLog:
        return self.directories.logs[topic]

    def produce(self) -> None:
        commits: list[Commit] = []
        for topic in self.chance.sample(TOPICS, self.chance.randint(1, 2)):
            log = self.log(topic)
            pairs = [
                (self.chance.choice(KEYS), self.chance.randbytes(60))
                for _ in range(self.chance.randint(1, 4))
            ]
            run = log.append(staged([put_batch(pairs, self.clock.time_ms)]), 0)
            self.sent[topic] |= {run.first_offset + number: pair for number, pair in enumerate(pairs)}
            commits.append(Commit(log, run, lambda _: None))
        self.commits.run(commits)
        for commit in commits:
            self.acknowledged[commit.log.topic_partition] = commit.run.next_offset

    def clean(self) -> None:
        log = self.log(self.chance.choice(TOPICS))
        if self.chance.random() < 0.5 and log.active.size_bytes:
            log.roll()
        cleanable = measured(log)
        if cleanable.cleanable_bytes:
            self.swaps += sum(step == "swapped" for step in steps_of(log, new_cleaning(log, cleanable)))
            self.directories.checkpoint_cleaned(PATH)

    def flush(self) -> None:
        self.log(self.chance.choice(TOPICS)).flush()

    def release(self) -> None:
        journal = self.directories.journals[PATH]
        assert journal is not None
        journal.release_oldest()

    def checkpoint(self) -> None:
        self.directories.checkpoint()

    def crash(self) -> None:
        self.disk.crash_at = self.disk.operations + self.chance.randint(1, 40)
        with suppress(PowerLoss):
            while True:
                self.act()
        self.disk.lose_power()
        self.start()
        for topic in TOPICS:
            self.check(topic)

    def act(self) -> None:
        actions = [self.produce, self.clean, self.flush, self.release, self.checkpoint]
        self.chance.choices(actions, weights=[10, 5, 1, 1, 1])[0]()

    def check(self, topic: TopicPartition) -> None:
        log, sent = self.log(topic), self.sent[topic]
        assert log.log_end_offset >= self.acknowledged[topic]
        assert log.first_dirty_offset <= log.log_end_offset
        for offset in [offset for offset in sent if offset >= log.log_end_offset]:
            del sent[offset]  # nobody was promised these
        found: Sent = {}
        for header, batch in log.read_batches(0, log.log_end_offset, 4096):
            for record in decode_records(batch, header=header):
                assert record.key is not None
                assert record.value is not None
                found[header.base_offset + record.offset_delta] = (record.key, record.value)
        assert found.items() <= sent.items()
        newest = {key: offset for offset, (key, _) in sorted(sent.items())}
        assert set(newest.values()) <= set(found)


@pytest.mark.parametrize("seed", range(50))
def test_what_was_acknowledged_outlives_a_power_loss_while_its_log_is_compacted(seed: int) -> None:
    world = World(seed)
    for _ in range(6):
        for _ in range(world.chance.randint(5, 40)):
            world.act()
        world.crash()
    for topic in TOPICS:
        if measured(world.log(topic)).cleanable_bytes:
            compact(world.log(topic))
        world.check(topic)
    assert world.swaps > 0
