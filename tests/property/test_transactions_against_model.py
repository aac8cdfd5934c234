"""Transactions in a log against a list: what a reader of committed data sees, whatever the log goes through.

Several producers write in transactions and outside of them, segments roll, records are deleted, the process
ends cleanly, by a kill, or in the middle of a write. At any moment a reader that starts anywhere, with
fetches of any size, and leaves out what it is told to, sees every committed record below the last stable
offset once, and nothing of what was aborted or is open.
"""

from __future__ import annotations

import os
import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.support.logs import StandingClock, append, batch_of, place_in, storage_on
from tests.support.transactions import committed_values, end_of, offset_behind, read_committed, transactional

from mainstem.config.topic_options import TopicConfig
from mainstem.log.loading import create_log, open_clean_log, recover_log
from mainstem.log.partition_log import PartitionLog
from mainstem.log.producer_state import NOTHING_UNSTABLE

CONFIG = TopicConfig(segment_bytes=3_000, index_interval_bytes=150)
PRODUCERS = 4


@dataclass
class Step:
    """A batch that was appended: enough to take it back when a crash loses it."""

    offset: int
    next_offset: int
    producer: int | None = None
    values: list[bytes] = field(default_factory=list)
    sequence: int = 0
    epoch: int = 0
    is_transactional: bool = False
    commits: bool | None = None  # of a marker


class World:
    def __init__(self, seed: int, folder: str) -> None:
        self.chance = random.Random(seed)
        self.place = place_in(folder, CONFIG)
        self.log: PartitionLog = create_log(storage_on(clock=StandingClock()), self.place, sync=False)
        self.steps: list[Step] = []
        self.recovery_point = 0
        self.start = 0

    # --- the model, all of it from the steps

    def state_of(self, producer: int) -> tuple[int, int, bool]:
        """Epoch, next sequence, and whether a transaction is open."""
        epoch, sequence, is_open = 0, 0, False
        for step in self.steps:
            if step.producer != producer:
                continue
            if step.commits is not None:
                is_open = False
                if step.epoch > epoch:
                    epoch, sequence = step.epoch, 0
            else:
                sequence = step.sequence + len(step.values)
                is_open = is_open or step.is_transactional
        return epoch, sequence, is_open

    def visible(self) -> tuple[dict[int, bytes], int]:
        """The committed records, by offset, and the last stable offset."""
        shown: dict[int, bytes] = {}
        open_ones: dict[int, list[Step]] = {}
        for step in self.steps:
            if step.commits is not None:
                assert step.producer is not None
                for held in open_ones.pop(step.producer, []):
                    if step.commits:
                        shown.update(enumerate(held.values, held.offset))
            elif step.is_transactional:
                assert step.producer is not None
                open_ones.setdefault(step.producer, []).append(step)
            else:
                shown.update(enumerate(step.values, step.offset))
        end = self.steps[-1].next_offset if self.steps else 0
        stable = min((held[0].offset for held in open_ones.values()), default=end)
        return {offset: value for offset, value in shown.items() if offset < stable}, stable

    # --- what happens to the log

    def values(self) -> list[bytes]:
        return [
            self.chance.randbytes(self.chance.choice([0, 20, 150])) for _ in range(self.chance.randint(1, 4))
        ]

    def note(self, step: Step) -> None:
        step.next_offset = self.log.log_end_offset
        self.steps.append(step)

    def write_plain(self) -> None:
        values = self.values()
        self.note(Step(append(self.log, batch_of(*values)), 0, None, values))

    def write_in_transaction(self) -> None:
        producer = self.chance.randrange(PRODUCERS)
        epoch, sequence, _ = self.state_of(producer)
        values = self.values()
        batch = transactional(producer, *values, epoch=epoch, sequence=sequence)
        self.note(Step(append(self.log, batch), 0, producer, values, sequence, epoch, is_transactional=True))

    def end(self) -> None:
        producer = self.chance.randrange(PRODUCERS)
        epoch, _, is_open = self.state_of(producer)
        if not is_open and self.chance.random() < 0.8:
            return
        epoch += self.chance.random() < 0.5
        commit = self.chance.random() < 0.5
        offset = append(self.log, end_of(producer, commit=commit, epoch=epoch))
        self.note(Step(offset, 0, producer, [], 0, epoch, commits=commit))

    def roll(self) -> None:
        if self.log.active.size_bytes:
            self.log.roll()

    def flush(self) -> None:
        self.recovery_point = self.log.flush()

    def delete_records(self) -> None:
        _, stable = self.visible()
        self.start = self.chance.randint(self.start, max(self.start, stable // 3))
        self.log.delete_records(self.start)

    def stop_cleanly(self) -> None:
        state = self.log.clean_state()
        self.log.close()
        self.recovery_point = self.log.log_end_offset
        storage = storage_on(clock=StandingClock())
        again = open_clean_log(storage, self.place, self.log.clean_state() or state, self.start)
        assert again is not None
        self.log = again

    def die(self) -> None:
        """The last batches may be lost, the one at the cut is torn; whole snapshots and indexes may lie."""
        self.log.abandon()
        self.log.active.write_indexes()
        lost = self.chance.randint(0, 3)
        while (
            lost
            and self.steps
            and self.steps[-1].offset >= max(self.recovery_point, self.log.active.base_offset, self.start)
        ):
            step = self.steps.pop()
            span = self.log.active.find(step.offset)
            assert span is not None
            torn = self.chance.randint(0, span.size_bytes - 1)
            os.truncate(self.log.active.log_path, span.position + torn)
            lost -= 1
        if self.chance.random() < 0.5:
            self._spoil_what_was_not_stored()
        self._recover()

    def _spoil_what_was_not_stored(self) -> None:
        """Entries above the recovery point may be anything after a power loss."""
        index = self.log.active.transaction_index
        entries = index.read_all()
        kept = [entry for entry in entries if entry.last_offset < self.recovery_point]
        if not Path(index.path).exists():
            return
        content = Path(index.path).read_bytes()[: 34 * len(kept)]
        garbage = self.chance.choice([b"", bytes(34), bytes(90), self.chance.randbytes(50)])
        Path(index.path).write_bytes(content + garbage)

    def _recover(self) -> None:
        storage = storage_on(clock=StandingClock())
        self.log = recover_log(
            storage, self.place, recovery_point=self.recovery_point, log_start_offset=self.start
        )
        self.log.flush()
        self.recovery_point = self.log.log_end_offset

    # --- what must hold

    def check(self) -> None:
        log = self.log
        assert log.log_end_offset == (self.steps[-1].next_offset if self.steps else 0)
        log.producers.settle(log.log_end_offset)
        expected, stable = self.visible()
        found = log.producers.first_unstable_offset
        assert (log.log_end_offset if found == NOTHING_UNSTABLE else found) == stable
        begin = self.chance.randint(self.start, max(self.start, stable))
        size = self.chance.choice([1, 200, 1_000, 10_000])
        shown: dict[int, bytes | None] = {}
        position = begin
        while position < stable:
            raw, aborted = read_committed(log, position, size, stable)
            values = dict(committed_values(raw, aborted, position))
            assert not shown.keys() & values.keys()
            shown.update(values)
            following = offset_behind(raw, position)
            assert following > position, "no progress"
            position = following
        assert shown == {offset: value for offset, value in expected.items() if offset >= begin}

    def run(self, steps: int) -> None:
        weighted = {
            self.write_in_transaction: 40,
            self.end: 25,
            self.write_plain: 12,
            self.roll: 6,
            self.flush: 4,
            self.delete_records: 3,
            self.stop_cleanly: 4,
            self.die: 8,
        }
        actions, weights = list(weighted), list(weighted.values())
        for _ in range(steps):
            self.chance.choices(actions, weights)[0]()
            self.check()


@pytest.mark.parametrize("seed", range(60))
def test_readers_see_what_was_committed_and_nothing_else(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(seed, folder)
        world.run(120)
        world.log.abandon()
