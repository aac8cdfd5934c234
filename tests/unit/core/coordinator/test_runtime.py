"""The life of a shard, with the smallest shard there is: counters, one record a change."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from tests.support.coordinator_log import CoordinatorLog
from tests.support.simulated_clock import SimulatedClock, settle

from mainstem.core.coordinator import loading
from mainstem.core.coordinator import runtime as runtime_module
from mainstem.core.coordinator.result import Result
from mainstem.core.coordinator.runtime import RELOAD_DELAY_MS, ShardRuntime, ShardState
from mainstem.core.errors import (
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    InvalidCommitOffsetSize,
    NotCoordinator,
    NotLeaderOrFollower,
    StorageFailed,
)
from mainstem.log.errors import BatchTooLarge
from mainstem.model.records import NewRecord, build_batch

Count = tuple[str, int]


class Counters:
    """Replayed state: a number by name. A record says by how much it grows; -1000 is a defect."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.replayed: list[Count] = []
        self.cleared: list[Exception] = []
        self.loads = 0

    def encode(self, record: Count) -> tuple[bytes, bytes | None]:
        return record[0].encode(), b"%d" % record[1]

    def decode(self, key: bytes, value: bytes | None) -> Count | None:
        return None if key.startswith(b"?") or value is None else (key.decode(), int(value))

    def replay(self, record: Count) -> None:
        name, number = record
        if number == -1000:
            raise RuntimeError("a defect")
        self.numbers[name] = self.numbers.get(name, 0) + number
        self.replayed.append(record)

    def clear(self, error: Exception) -> None:
        self.numbers = {}
        self.cleared.append(error)

    def on_loaded(self) -> None:
        self.loads += 1


class World:
    def __init__(self, log: CoordinatorLog) -> None:
        self.log = log
        self.clock = SimulatedClock()
        self.shard = Counters()
        self.runtime: ShardRuntime[Count] = ShardRuntime("counters-0", self.shard, self.clock)
        self.steps: list[str] = []

    async def lead(self, epoch: int = 1) -> World:
        self.runtime.on_leader(epoch, self.log)
        await self.runtime.loaded()
        return self

    def add(self, name: str, *numbers: int, blind: bool = False, label: str = "") -> Future[Any]:
        """A decision that grows `name`; its answer is what the number was when it was decided."""
        waiter: Future[Any] = asyncio.get_running_loop().create_future()

        def decide() -> Result[Count]:
            return Result(
                [(name, number) for number in numbers],
                waiter=waiter,
                response=self.shard.numbers.get(name, 0),
                applied=lambda: self.steps.append(f"applied {label}"),
                settled=lambda error: self.steps.append(
                    f"settled {label}{'' if error is None else ' ' + type(error).__name__}"
                ),
            )

        self.runtime.run(name, decide, blind=blind)
        return waiter

    def read(self, name: str, label: str = "") -> Future[Any]:
        return self.add(name, label=label)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = await World(CoordinatorLog()).lead()
    yield made
    made.runtime.on_resigned(99)
    assert made.clock.pending == 0


@pytest.fixture
async def slow(world: World) -> World:
    """The log commits when the test says so."""
    world.log.commits_at_once = False
    return world


# --- decisions


async def test_a_decision_is_appended_replayed_applied_settled_and_answered(slow: World) -> None:
    answer = slow.add("a", 1, label="a")
    assert not slow.shard.numbers
    await settle()
    assert slow.log.end_offset == 1
    assert slow.shard.numbers == {"a": 1}
    assert slow.steps == ["applied a"]
    assert not answer.done()
    slow.log.commit()
    assert slow.steps == ["applied a", "settled a"]
    assert await answer == 0


async def test_the_decisions_of_a_turn_are_one_batch(world: World) -> None:
    answers = [world.add(f"n{number}", 1, 2) for number in range(100)]
    await asyncio.gather(*answers)
    assert world.log.appends == 1
    assert world.log.end_offset == 200
    assert (world.runtime.appends, world.runtime.appended_records) == (1, 200)


async def test_a_decision_sees_what_the_one_before_in_its_scope_did(world: World) -> None:
    first, second, third = world.add("a", 1), world.add("a", 1), world.read("a")
    assert [await first, await second, await third] == [0, 1, 2]
    assert world.log.appends == 2


async def test_blind_decisions_of_one_scope_are_gathered(world: World) -> None:
    answers = [world.add("a", 1, blind=True) for _ in range(50)]
    assert await asyncio.gather(*answers) == [0] * 50
    assert world.log.appends == 1
    assert await world.read("a") == 50
    sighted, blind = world.add("a", 1), world.add("a", 1, blind=True)
    assert [await sighted, await blind] == [50, 51]


async def test_what_a_decision_raises_is_raised_and_nothing_happens(world: World) -> None:
    def refuse() -> Result[Count]:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        world.runtime.run("a", refuse)
    assert world.log.end_offset == 0
    assert await world.add("a", 1) == 0


async def test_an_answer_without_records_waits_for_those_before(slow: World) -> None:
    written = slow.add("a", 1, label="write")
    await settle()
    read = slow.read("b", label="read")
    await settle()
    assert not read.done()
    slow.log.commit()
    assert await read == 0
    assert await written == 0
    assert slow.steps == ["applied write", "applied read", "settled write", "settled read"]
    idle = slow.read("b", label="idle")
    assert idle.done()  # nothing is under way: at once


async def test_answers_come_in_the_order_of_the_decisions(slow: World) -> None:
    done: list[int] = []
    for number in range(5):
        slow.add(f"n{number}", 1).add_done_callback(lambda _, n=number: done.append(n))
        await settle()
    assert slow.log.uncommitted == 5
    slow.log.commit(2)
    await settle()
    assert done == [0, 1]
    slow.log.commit()
    await settle()
    assert done == [0, 1, 2, 3, 4]


async def test_a_caller_that_went_away_hurts_nobody(slow: World) -> None:
    gone, stays = slow.add("a", 1), slow.add("b", 1)
    await settle()
    gone.cancel()
    slow.log.commit()
    assert await stays == 0
    assert slow.shard.numbers == {"a": 1, "b": 1}


async def test_a_large_turn_is_cut_into_batches(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_module, "MAX_BATCH_BYTES", 1_000)
    answers = [world.add(f"n{number}", 1) for number in range(200)]
    await asyncio.gather(*answers)
    assert world.log.end_offset == 200
    assert 4 <= world.log.appends <= 8


async def test_too_much_that_waits_for_the_storage_is_refused(
    slow: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_module, "MAX_UNCOMMITTED_RECORDS", 10)
    first = slow.add("a", *[1] * 10, label="first")
    await settle()
    with pytest.raises(CoordinatorNotAvailable, match="wait for the storage"):
        await slow.add("b", 1, label="second")
    assert slow.steps == ["applied first", "settled second CoordinatorNotAvailable"]
    slow.log.commit()
    assert await first == 0
    third = slow.add("b", 1)
    await settle()
    slow.log.commit()
    assert await third == 0


# --- a log that refuses


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (StorageFailed("full"), CoordinatorNotAvailable),
        (NotLeaderOrFollower("moved"), NotCoordinator),
        (BatchTooLarge(5, 4), InvalidCommitOffsetSize),
        (RuntimeError("a defect"), CoordinatorNotAvailable),
    ],
)
async def test_a_refused_append_changes_nothing_and_all_of_its_turn_are_told(
    world: World, refusal: Exception, told: type[Exception]
) -> None:
    world.log.refusal = refusal
    answers = [world.add("a", 1, label="a"), world.add("b", 1, label="b")]
    outcomes = await asyncio.gather(*answers, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [told, told]
    assert world.steps == [f"settled a {told.__name__}", f"settled b {told.__name__}"]
    assert not world.shard.numbers
    assert world.runtime.failed_appends == 1
    world.log.refusal = None
    assert await world.add("a", 1) == 0
    assert world.runtime.state is ShardState.ACTIVE


async def test_a_refusal_that_takes_the_partition_away_tells_everybody_once(world: World) -> None:
    """A partition whose storage fails resigns in the middle of the append."""
    world.log.refusal = StorageFailed("the disk is gone")
    world.log.on_refused = lambda: world.runtime.on_resigned(1)
    outcomes = await asyncio.gather(world.add("a", 1, label="a"), return_exceptions=True)
    assert type(outcomes[0]) is NotCoordinator
    assert world.steps == ["settled a NotCoordinator"]
    assert world.runtime.state is ShardState.RESIGNED
    with pytest.raises(NotCoordinator):
        world.add("a", 1)
    world.log.refusal = None
    await world.lead(2)
    assert await world.add("a", 1) == 0


async def test_a_commit_that_fails_gives_the_shard_up_and_loads_it_again(slow: World) -> None:
    kept = slow.add("a", 1)
    await settle()
    slow.log.commit()
    await kept
    lost = [slow.add("a", 10, label="lost"), slow.read("b", label="read")]
    await settle()
    assert slow.shard.numbers == {"a": 11}
    slow.log.fail(StorageFailed("gone"))
    outcomes = await asyncio.gather(*lost, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {CoordinatorNotAvailable}
    assert slow.runtime.state is ShardState.FAILED
    assert not slow.shard.numbers
    with pytest.raises(CoordinatorNotAvailable):
        slow.read("a")
    slow.log.commits_at_once = True
    slow.clock.advance(RELOAD_DELAY_MS)
    await slow.runtime.loaded()
    assert slow.runtime.state is ShardState.ACTIVE
    assert await slow.read("a") == 11  # the log kept what was not committed


async def test_a_late_word_of_a_commit_from_before_is_passed_over(slow: World) -> None:
    lost = slow.add("a", 1, label="a")
    await settle()
    slow.runtime.on_resigned(1)
    with pytest.raises(NotCoordinator):
        await lost
    await slow.lead(2)
    slow.log.commit()
    slow.log.fail(StorageFailed("x"))
    assert slow.runtime.state is ShardState.ACTIVE
    assert slow.steps == ["applied a", "settled a NotCoordinator"]


async def test_a_defect_in_a_replay_gives_the_shard_up(world: World) -> None:
    answer = world.add("a", -1000)
    with pytest.raises(CoordinatorNotAvailable):
        await answer
    assert world.runtime.state is ShardState.FAILED
    world.runtime.on_resigned(2)


# --- leading, loading, resigning


async def test_a_shard_that_nobody_leads_refuses() -> None:
    world = World(CoordinatorLog())
    with pytest.raises(NotCoordinator):
        world.read("a")
    world.runtime.on_leader(1, world.log)
    with pytest.raises(CoordinatorLoadInProgress):
        world.read("a")
    await world.runtime.loaded()
    assert await world.read("a") == 0
    world.runtime.on_resigned(1)
    with pytest.raises(NotCoordinator):
        world.read("a")


async def test_loading_replays_the_whole_log_and_skips_what_it_does_not_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loading, "CHUNK_RECORDS", 10)
    monkeypatch.setattr(runtime_module, "REPLAY_SLICE_RECORDS", 3)
    log = CoordinatorLog()
    records: Sequence[NewRecord] = [NewRecord(b"a", b"1"), NewRecord(b"?", b"x"), NewRecord(None, b"1")]
    for _ in range(40):
        log.append(build_batch(records), lambda _: None)
    log.append(build_batch([NewRecord(b"a", b"999")], is_control=True), lambda _: None)
    world = await World(log).lead()
    assert world.shard.numbers == {"a": 40}
    assert world.runtime.unknown_records == 80
    assert world.shard.loads == 1


async def test_a_log_that_cannot_be_read_is_tried_again() -> None:
    world = World(CoordinatorLog())
    world.log.append(build_batch([NewRecord(b"a", b"5")]), lambda _: None)
    for error in (StorageFailed("eio"), RuntimeError("a defect")):
        world.log.read_error = error
        if world.runtime.state is ShardState.RESIGNED:
            world.runtime.on_leader(1, world.log)
        else:
            world.clock.advance(RELOAD_DELAY_MS)
        await world.runtime.loaded()
        assert world.runtime.state is ShardState.FAILED
    world.log.read_error = None
    world.clock.advance(RELOAD_DELAY_MS)
    await world.runtime.loaded()
    assert await world.read("a") == 5
    assert world.clock.pending == 0


async def test_a_load_is_given_up_when_leadership_goes() -> None:
    world = World(CoordinatorLog())
    world.runtime.on_leader(1, world.log)
    world.runtime.on_resigned(2)
    await settle()
    await asyncio.sleep(0.01)
    assert world.runtime.state is ShardState.RESIGNED
    assert world.shard.loads == 0
    assert len(world.shard.cleared) == 1


async def test_epochs_that_are_over_are_passed_over(world: World) -> None:
    await world.add("a", 1)
    world.runtime.on_leader(0, CoordinatorLog())
    world.runtime.on_leader(1, CoordinatorLog())
    world.runtime.on_resigned(0)
    assert world.runtime.state is ShardState.ACTIVE
    assert await world.read("a") == 1
    other = CoordinatorLog()
    world.runtime.on_leader(2, other)
    await world.runtime.loaded()
    assert await world.read("a") == 0


async def test_resigning_tells_who_decided_in_this_turn_and_who_waits(slow: World) -> None:
    waiting = slow.add("a", 1, label="waiting")
    await settle()
    staged = slow.add("b", 1, label="staged")
    slow.runtime.on_resigned(2)
    for answer in (waiting, staged):
        with pytest.raises(NotCoordinator):
            await answer
    assert slow.steps == [
        "applied waiting",
        "settled waiting NotCoordinator",
        "settled staged NotCoordinator",
    ]
    await settle()
    assert slow.log.end_offset == 1


async def test_replaying_gives_the_same_state_as_deciding(world: World) -> None:
    for number in range(300):
        world.add(f"n{number % 7}", number, blind=number % 2 == 0)
        if number % 13 == 0:
            await settle()
    await settle()
    numbers = dict(world.shard.numbers)
    again = await World(world.log.after_crash()).lead()
    assert again.shard.numbers == numbers
    assert again.shard.replayed == world.shard.replayed
    again.runtime.on_resigned(2)
