"""The journal: what is in it when `append` returns, when a piece is used again, what a replay makes of it."""

from __future__ import annotations

import errno
from collections.abc import Sequence

import pytest
from tests.support.simple_log import SimpleLog
from tests.support.simulated_disk import SimulatedDisk

from mainstem.log.errors import LogDirectoryFailed
from mainstem.log.journal import Journal, NoRoom
from mainstem.log.journal_format import APPEND, TRUNCATE, JournalEntry
from mainstem.log.journal_replay import ReplayResult, replay_journal

PIECE_BYTES = 8 * 4096


class World:
    """A directory with logs on a simulated disk, and its journal."""

    def __init__(self, *topics: str, capacity_bytes: int | None = None) -> None:
        self.disk = SimulatedDisk(1, capacity_bytes=capacity_bytes)
        self.disk.make_directory("/d")
        self.disk.sync_directory("/")
        self.topics = topics or ("t",)
        self.open()

    def open(self) -> None:
        self.logs = {topic: SimpleLog(self.disk, "/d", topic) for topic in self.topics}
        self.journal = Journal(self.disk, "/d", piece_bytes=PIECE_BYTES, max_pieces=3)

    def write(self, topic: str, *payloads: bytes) -> None:
        log = self.logs[topic]
        run = log.append(*payloads)
        entry = JournalEntry(
            APPEND, log.topic_id, 0, run.first_offset, run.next_offset, run.size_bytes, run.buffers
        )
        self.journal.append([entry], [log])

    def crash(self) -> ReplayResult:
        """Only what was flushed survives, and then recovery runs."""
        self.disk.lose_power()
        self.open()
        return self.replay()

    def replay(self, topics: Sequence[str] | None = None) -> ReplayResult:
        logs = {(log.topic_id, 0): log for name, log in self.logs.items() if topics is None or name in topics}
        return replay_journal(self.journal, logs)

    def payloads(self, topic: str = "t") -> list[bytes]:
        return self.logs[topic].payloads()


def write_many(world: World) -> None:
    """More than all pieces hold."""
    for _ in range(40):
        world.write("a", bytes(3_000))


def test_what_append_returned_from_is_there_after_a_power_loss() -> None:
    world = World("a", "b")
    world.write("a", b"1", b"2")
    world.write("b", b"3")
    world.write("a", b"4")
    result = world.crash()
    assert world.payloads("a") == [b"1", b"2", b"4"]
    assert world.payloads("b") == [b"3"]
    assert (result.rounds, result.entries) == (3, 3)
    assert not result.gaps
    assert result.held == set(world.logs.values())


def test_a_second_replay_changes_nothing() -> None:
    world = World()
    world.write("t", b"1", b"2")
    world.crash()
    again = world.replay()
    assert world.payloads() == [b"1", b"2"]
    assert (again.entries, again.restored_bytes, again.restored) == (1, 0, set())


def test_a_piece_is_used_again_only_when_its_logs_are_flushed() -> None:
    world = World("a", "idle")
    world.write("idle", b"once")
    idle = world.logs["idle"]
    for number in range(100):
        world.write("a", b"%d" % number * 1_000)
        assert world.journal.piece_count <= 3
    assert idle.recovery_point == 1  # its piece was needed
    world.crash()
    assert world.payloads("a") == [b"%d" % number * 1_000 for number in range(100)]
    assert world.payloads("idle") == [b"once"]


def test_after_a_restart_the_earlier_rounds_are_void() -> None:
    world = World()
    world.write("t", b"1")
    world.crash()
    world.logs["t"].flush()
    world.journal.restart()
    assert world.replay().entries == 0
    world.write("t", b"2")
    assert world.crash().entries == 1
    assert world.payloads() == [b"1", b"2"]


def test_numbers_go_on_after_a_clean_stop() -> None:
    world = World()
    world.write("t", b"1")
    position = world.journal.position
    world.logs["t"].flush()
    world.journal.close()
    world.open()
    world.journal.resume(position)
    world.write("t", b"2")
    result = world.crash()
    assert result.entries == 1  # the first round was in the files: nobody asks for it
    assert world.payloads() == [b"1", b"2"]


def test_a_log_that_was_cut_back_is_not_made_longer_again() -> None:
    world = World()
    world.write("t", b"1", b"2", b"3")
    log = world.logs["t"]
    cut = JournalEntry(TRUNCATE, log.topic_id, 0, 1, 1, 0, [])
    world.journal.append([cut], [log])
    world.crash()
    assert world.payloads() == [b"1"]


def test_topics_that_were_deleted_are_passed_over() -> None:
    world = World("kept", "gone")
    world.write("gone", b"x")
    world.write("kept", b"y")
    world.disk.lose_power()
    world.open()
    result = world.replay(["kept"])
    assert world.payloads("kept") == [b"y"]
    assert result.held == {world.logs["kept"]}


def test_a_hole_before_an_entry_is_told_and_nothing_is_put_behind_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    world.logs["t"].append(b"never journaled")
    for payload in (b"1", b"2"):
        world.write("t", payload)
    world.disk.kill_process()
    world.open()
    world.disk.make_directory("/lost")
    world.logs["t"] = SimpleLog(world.disk, "/lost", "t")  # a file that lost everything
    result = world.replay()
    assert result.gaps == {world.logs["t"]}
    assert caplog.text.count("what lies between is lost") == 1
    assert world.payloads() == []


def test_a_round_larger_than_a_piece_is_refused_and_writes_nothing() -> None:
    world = World()
    with pytest.raises(NoRoom):
        world.write("t", bytes(PIECE_BYTES))
    assert world.journal.piece_count == 0
    world.logs["t"].flush()
    world.write("t", b"small")
    world.crash()
    assert world.payloads()[-1] == b"small"


def test_no_room_for_a_piece_is_no_failure() -> None:
    world = World(capacity_bytes=PIECE_BYTES // 2)
    with pytest.raises(NoRoom):
        world.write("t", b"x")
    assert not world.journal.is_failed
    assert not [name for name in world.disk.list("/d") if name.startswith("mainstem-journal")]


def test_after_a_write_that_failed_nothing_is_promised_any_more() -> None:
    world = World()
    world.write("t", b"1")
    world.disk.fault = lambda _, path: OSError(errno.EIO, "as asked") if "journal" in path else None
    with pytest.raises(LogDirectoryFailed):
        world.write("t", b"2")
    world.disk.fault = None
    with pytest.raises(LogDirectoryFailed):
        world.write("t", b"3")
    assert world.journal.is_failed


def test_a_flush_that_fails_keeps_its_piece() -> None:
    world = World("a", "b")
    world.write("b", b"x")
    failing = "/d/b-0/log"
    world.disk.fault = lambda operation, path: (
        OSError(errno.EIO, "as asked") if operation == "sync" and path == failing else None
    )
    with pytest.raises(LogDirectoryFailed):
        write_many(world)
    world.disk.fault = None
    world.crash()
    assert world.payloads("b") == [b"x"]


def test_a_deleted_log_holds_no_piece() -> None:
    world = World("a", "gone")
    world.write("gone", b"x")
    gone = world.logs["gone"]
    world.journal.forget(gone)
    write_many(world)
    assert gone.flushes == 0
