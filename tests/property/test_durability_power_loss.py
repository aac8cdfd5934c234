"""Seeded power losses: what was called durable is there afterwards, once and in order."""

from __future__ import annotations

import random

import pytest
from tests.support.simple_log import SimpleLog
from tests.support.simulated_disk import PowerLoss, SimulatedDisk

from mainstem.log.durability import Commit, CommitLimits, DirectoryCommit
from mainstem.log.journal import Journal
from mainstem.log.journal_replay import replay_journal

LIMITS = CommitLimits(direct_bytes=20_000, max_round_bytes=40_000)
TOPICS = ("a", "b", "c", "d", "e")


class World:
    """A log directory with a few logs, and what a client was told about them."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.disk = SimulatedDisk(seed)
        self.disk.make_directory("/data")
        self.disk.sync_directory("/")
        self.sent: dict[str, list[bytes]] = {topic: [] for topic in TOPICS}
        self.acknowledged = dict.fromkeys(TOPICS, 0)

    def start(self) -> None:
        self.logs = {topic: SimpleLog(self.disk, "/data", topic) for topic in TOPICS}
        self.journal = Journal(self.disk, "/data", piece_bytes=16 * 4096, max_pieces=3)
        result = replay_journal(self.journal, {(log.topic_id, 0): log for log in self.logs.values()})
        assert not result.gaps
        for log in self.logs.values():
            log.flush()
        self.journal.restart()
        self.commits = DirectoryCommit(self.journal, LIMITS)

    def check(self) -> None:
        for topic, log in self.logs.items():
            payloads = log.payloads()
            assert len(payloads) >= self.acknowledged[topic]
            assert payloads == self.sent[topic][: len(payloads)]
            del self.sent[topic][len(payloads) :]

    def round(self) -> None:
        commits = []
        for topic in self.chance.sample(TOPICS, self.chance.randint(1, len(TOPICS))):
            payloads = [
                self.chance.randbytes(self.chance.choice([1, 50, 600, 5_000, 9_000]))
                for _ in range(self.chance.randint(1, 3))
            ]
            self.sent[topic] += payloads
            run = self.logs[topic].append(*payloads)
            if self.chance.random() < 0.9:  # otherwise nobody asked for the disk
                commits.append(Commit(self.logs[topic], run, lambda _: None))
        self.commits.run(commits)
        for log, run, _ in commits:
            self.acknowledged[log.topic_partition.topic] = run.next_offset
        if self.chance.random() < 0.2:
            self.journal.release_oldest()


@pytest.mark.parametrize("block", range(10))
def test_nothing_acknowledged_is_lost_doubled_or_torn(block: int) -> None:
    crashes = 0
    for seed in range(block * 12, block * 12 + 12):
        world = World(seed)
        world.start()
        for _ in range(4):
            world.disk.crash_at = world.disk.operations + world.chance.randint(1, 150)
            try:
                for _ in range(30):
                    world.round()
            except PowerLoss:
                crashes += 1
            world.disk.lose_power()
            while True:  # power may fail again while recovery is at work
                if world.chance.random() < 0.3:
                    world.disk.crash_at = world.disk.operations + world.chance.randint(1, 25)
                try:
                    world.start()
                    break
                except PowerLoss:
                    world.disk.lose_power()
            world.check()
    assert crashes > 24
