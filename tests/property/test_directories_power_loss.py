"""Seeded power losses over whole log directories: segments, checkpoints, journal, both kinds of topics.

What was acknowledged after its commit round is there afterwards, once, in order and readable. What nobody
waited for may be missing from the end, and from nowhere else.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
from tests.support.logs import StandingClock, batch_of, staged
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
CONFIG = TopicConfig(segment_bytes=6_000, index_interval_bytes=500)
LIMITS = CommitLimits(direct_bytes=8_000, max_round_bytes=20_000)


@dataclass
class Told:
    """What the clients of one topic sent, and what they were promised."""

    topic_id: TopicId
    sent: list[bytes] = field(default_factory=list)
    acknowledged: int = 0


class World:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.disk = SimulatedDisk(seed)
        self.disk.make_directory(PATH)
        self.disk.sync_directory("/")
        self.clock = StandingClock()
        self.told: dict[TopicPartition, Told] = {}

    def start(self) -> None:
        storage = LogStorage(self.disk, self.clock, OpenFiles(self.disk, 8))
        self.directories = LogDirectories(
            storage, DirectorySettings([PATH], 1, JournalSize(16 * 4096, 3), Owner("c", 1))
        )
        self.directories.open(CONFIG)
        journal = self.directories.journals[PATH]
        self.commits = DirectoryCommit(journal, LIMITS)
        self.journal = journal

    def check(self) -> None:
        for topic_partition, told in self.told.items():
            log = self.directories.logs[topic_partition]
            assert log.topic_id == told.topic_id
            found = values_of(log)
            assert found == told.sent[: len(found)]
            assert len(found) >= told.acknowledged
            del told.sent[len(found) :]

    def create_topic(self) -> None:
        number = len(self.told)
        if number < 4:
            topic_id = TopicId((number + 1).to_bytes(16, "big"))
            topic_partition = TopicPartition(f"topic{number}", 0)
            self.directories.create_many([(topic_partition, topic_id, CONFIG)])
            self.told[topic_partition] = Told(topic_id)

    def produce(self) -> None:
        commits: list[Commit] = []
        topics = list(self.told)
        for topic_partition in self.chance.sample(topics, self.chance.randint(1, len(topics))):
            log, told = self.directories.logs[topic_partition], self.told[topic_partition]
            values = [
                self.chance.randbytes(self.chance.choice([1, 80, 700, 3_000]))
                for _ in range(self.chance.randint(1, 3))
            ]
            told.sent += values
            run = log.append(staged([batch_of(value) for value in values]), 0)
            assert not any(outcome.error for outcome in run.outcomes)
            if self.chance.random() < 0.8:  # else nobody waits for the disk
                commits.append(Commit(log, run, lambda _: None))
        self.commits.run(commits)
        for log, run, _ in commits:
            assert isinstance(log, PartitionLog)
            self.told[log.topic_partition].acknowledged = run.next_offset

    def do_something(self) -> None:
        choice = self.chance.random()
        if not self.told or choice < 0.05:
            self.create_topic()
        elif choice < 0.85:
            self.produce()
        elif choice < 0.9:
            assert self.journal is not None
            self.journal.release_oldest()
        elif choice < 0.95:
            self.directories.checkpoint()
        else:
            log = self.chance.choice(list(self.directories.logs.values()))
            log.flush()

    def stop(self) -> None:
        self.directories.close()


def values_of(log: PartitionLog) -> list[bytes]:
    found: list[bytes] = []
    for header, batch in log.read_batches(0, log.log_end_offset, 1 << 16):
        assert header.base_offset == len(found)
        found += [record.value or b"" for record in decode_records(batch, header=header)]
    assert len(found) == log.log_end_offset
    return found


@pytest.mark.parametrize("block", range(10))
def test_what_was_acknowledged_survives_any_power_loss(block: int) -> None:
    crashes = 0
    for seed in range(block * 10, block * 10 + 10):
        world = World(seed)
        world.start()
        for _ in range(4):
            world.disk.crash_at = world.disk.operations + world.chance.randint(1, 250)
            try:
                for _ in range(30):
                    world.do_something()
                world.stop()
            except PowerLoss:
                crashes += 1
            world.disk.lose_power()
            while True:  # the power may fail again while recovery is at work
                if world.chance.random() < 0.3:
                    world.disk.crash_at = world.disk.operations + world.chance.randint(1, 40)
                try:
                    world.start()
                    break
                except PowerLoss:
                    world.disk.lose_power()
            world.check()
    assert crashes > 15


@pytest.mark.parametrize("seed", range(20))
def test_a_killed_process_loses_nothing_that_reached_the_page_cache(seed: int) -> None:
    world = World(seed)
    world.start()
    for _ in range(5):
        for _ in range(20):
            world.do_something()
        for told in world.told.values():
            told.acknowledged = len(told.sent)
        if world.chance.random() < 0.3:
            world.stop()
        world.disk.kill_process()
        world.start()
        world.check()
