"""The embedded store beyond the port's contract: its file, its crashes, its disk, its thread."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.support.simulated_clock import SimulatedClock

from mainstem.cluster import sqlite_file
from mainstem.cluster.errors import (
    LeaseNotFound,
    MetadataDamaged,
    MetadataInUse,
    MetadataTooNew,
    MetadataWriteFailed,
    RevisionCompacted,
    StoreBusy,
    StoreClosed,
)
from mainstem.cluster.sqlite_file import APPLICATION_ID, SCHEMA_VERSION, SqliteFile
from mainstem.cluster.sqlite_store import SqliteMetadataStore, open_sqlite_store
from mainstem.cluster.store import Compare, Delete, Put
from mainstem.cluster.store_thread import MAX_WAITING_CALLS


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "metadata.db")


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock()


@pytest.fixture
async def store(path: str, clock: SimulatedClock) -> AsyncIterator[SqliteMetadataStore]:
    opened = await open_sqlite_store(path, clock)
    yield opened
    await opened.close()


async def reopened(path: str, clock: SimulatedClock | None = None) -> SqliteMetadataStore:
    return await open_sqlite_store(path, clock or SimulatedClock())


# --- what survives


async def test_what_was_put_is_there_after_the_next_open(path: str) -> None:
    store = await reopened(path)
    await store.transact([], [Put("a", b"1"), Put("b", b"2")])
    revision = (await store.transact([], [Delete("b")])).revision
    await store.close()
    store = await reopened(path)
    read = await store.range("")
    assert [(entry.key, entry.value) for entry in read.entries] == [("a", b"1")]
    assert read.revision == revision
    batch = await anext(store.watch("", 2))
    assert [(event.key, event.revision) for event in batch.events] == [("a", 2), ("b", 2), ("b", 3)]
    await store.close()


async def test_leases_of_an_earlier_process_end_at_the_next_open(path: str) -> None:
    store = await reopened(path)
    lease = await store.grant_lease(1_000_000)
    await store.transact([], [Put("leased", b"", lease), Put("free", b"")])
    await store.close()
    store = await reopened(path)
    assert [entry.key for entry in (await store.range("")).entries] == ["free"]
    assert store.revision == 3  # and watches see it
    with pytest.raises(LeaseNotFound):
        await store.keep_alive(lease)
    await store.close()


async def test_history_is_bounded_by_revisions(path: str, clock: SimulatedClock) -> None:
    store = await open_sqlite_store(path, clock, history_revisions=20)
    for number in range(100):
        await store.transact([], [Put("a", b"%d" % number)])
    with pytest.raises(RevisionCompacted):
        await anext(store.watch("", 70))
    batch = await anext(store.watch("", store.revision - 10))
    assert len(batch.events) == 11
    rows = await store.call(lambda file: file._rows("SELECT count(*) FROM history")[0][0])
    assert rows <= 20
    await store.close()


async def test_history_is_bounded_by_bytes_but_keeps_the_last(path: str, clock: SimulatedClock) -> None:
    store = await open_sqlite_store(path, clock, history_bytes=10_000)
    for number in range(40):
        await store.transact([], [Put("a", bytes(1_000) + b"%d" % number)])
        size = await store.call(lambda file: file._rows("SELECT sum(length(value)) FROM history")[0][0])
        assert size <= 10_000
    last = (await store.transact([], [Put("b", bytes(50_000))])).revision
    batch = await anext(store.watch("", last))
    assert [event.key for event in batch.events] == ["b"]
    await store.close()


async def test_a_watch_far_behind_reads_in_pieces_of_whole_revisions(
    path: str, clock: SimulatedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "MAX_EVENTS_PER_READ", 10)
    store = await open_sqlite_store(path, clock)
    for _ in range(9):
        await store.transact([], [Put(f"{number}", b"") for number in range(7)])
    watch = store.watch("", 2)
    sizes = []
    while sum(sizes) < 63:
        sizes.append(len((await anext(watch)).events))
    assert sizes == [14, 14, 14, 14, 7]
    watch.close()
    await store.close()


async def test_many_changes_at_once_share_their_flushes(
    store: SqliteMetadataStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = 0
    commit = SqliteFile.commit

    def counted(file: SqliteFile) -> None:
        nonlocal commits
        commits += 1
        commit(file)

    monkeypatch.setattr(SqliteFile, "commit", counted)
    await asyncio.gather(*(store.transact([], [Put(f"{number}", b"")]) for number in range(500)))
    assert commits < 50
    assert store.revision == 501


# --- files that are not what they should be


def test_a_new_file_knows_whose_it_is(path: str) -> None:
    SqliteFile(path).close()
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert database.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)


async def test_a_file_from_the_future_is_refused(path: str) -> None:
    SqliteFile(path).close()
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    database.close()
    before = Path(path).read_bytes()
    with pytest.raises(MetadataTooNew, match=f"schema version {SCHEMA_VERSION + 1}"):
        await reopened(path)
    assert Path(path).read_bytes() == before


async def test_a_database_of_something_else_is_refused(path: str) -> None:
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE recipes (name TEXT)")
    database.commit()
    database.close()
    with pytest.raises(MetadataDamaged, match="something else"):
        await reopened(path)


async def test_a_file_that_is_no_database_is_refused_and_kept(path: str) -> None:
    Path(path).write_bytes(b"certainly not a database\n" * 500)
    with pytest.raises(MetadataDamaged, match="restore"):
        await reopened(path)
    assert Path(path).read_bytes().startswith(b"certainly")


async def test_a_path_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(MetadataWriteFailed):
        await reopened(str(tmp_path / "nowhere" / "metadata.db"))


async def test_damage_at_any_page_is_found_or_harmless(path: str) -> None:
    """Pages are overwritten one at a time: the store opens with all that was put, or says it is damaged."""
    store = await reopened(path)
    expected = {}
    for number in range(60):
        key, value = f"key-{number:03}", bytes([number]) * 300
        expected[key] = value
        await store.transact([], [Put(key, value)])
    await store.close()
    whole = Path(path).read_bytes()
    refused = 0
    for page in range(len(whole) // 4096):
        damaged = whole[: page * 4096] + b"\xa5" * 4096 + whole[(page + 1) * 4096 :]
        Path(path).write_bytes(damaged)
        try:
            store = await reopened(path)
        except MetadataDamaged:
            refused += 1
            continue
        assert {entry.key: entry.value for entry in (await store.range("")).entries} == expected
        await store.close()
    assert refused > len(whole) // 4096 // 2


async def test_missing_counters_are_damage(path: str) -> None:
    SqliteFile(path).close()
    database = sqlite3.connect(path)
    database.execute("DELETE FROM counters WHERE name = 'oldest_revision'")
    database.commit()
    database.close()
    with pytest.raises(MetadataDamaged, match="counters"):
        await reopened(path)


# --- two on one file

_HOLDER = """
    import asyncio, sys
    from mainstem.cluster.sqlite_store import open_sqlite_store
    from mainstem.cluster.store import Put
    from mainstem.ports.clock import LoopClock

    async def main():
        store = await open_sqlite_store(sys.argv[1], LoopClock(asyncio.get_running_loop()))
        await store.transact([], [Put("holder", b"")])
        print("open", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        await store.close()

    asyncio.run(main())
"""


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


async def test_two_processes_cannot_use_one_file(path: str) -> None:
    with python(_HOLDER, path) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert await asyncio.to_thread(holder.stdout.readline) == "open\n"
        with pytest.raises(MetadataInUse, match="another process"):
            await reopened(path)
        holder.stdin.close()
        assert await asyncio.to_thread(holder.wait, 10) == 0
    store = await reopened(path)
    assert await store.get("holder") is not None
    await store.close()


async def test_two_stores_of_one_process_cannot_either(store: SqliteMetadataStore, path: str) -> None:
    with pytest.raises(MetadataInUse):
        await reopened(path)
    await store.transact([], [Put("a", b"")])


# --- killed

_WRITER = """
    import asyncio, sys
    from mainstem.cluster.sqlite_store import open_sqlite_store
    from mainstem.cluster.store import Put
    from mainstem.ports.clock import LoopClock

    async def write(store, writer):
        number = 0
        while True:
            number += 1
            value = b"%d" % number
            await store.transact([], [Put(f"{writer}/first", value), Put(f"{writer}/second", value)])
            sys.stdout.write(f"{writer} {number}\\n")
            sys.stdout.flush()

    async def main():
        path = sys.argv[1]
        store = await open_sqlite_store(path, LoopClock(asyncio.get_running_loop()), history_revisions=50)
        await asyncio.gather(*(write(store, writer) for writer in range(3)))

    asyncio.run(main())
"""


async def test_a_killed_process_loses_nothing_that_it_was_told_is_durable(path: str) -> None:
    """kill -9 in the middle of commits, again and again on the same file."""
    chance = random.Random(7)
    for _ in range(4):
        with python(_WRITER, path) as writer:
            assert writer.stdout is not None
            await asyncio.to_thread(writer.stdout.readline)
            await asyncio.sleep(chance.uniform(0.02, 0.2))
            writer.send_signal(signal.SIGKILL)
            told: dict[str, int] = {}
            for line in await asyncio.to_thread(writer.stdout.readlines):
                if line.endswith("\n"):
                    who, number = line.split()
                    told[who] = int(number)
        store = await reopened(path)
        read = await store.range("")
        found = {entry.key: entry for entry in read.entries}
        for who, number in told.items():
            first, second = found[f"{who}/first"], found[f"{who}/second"]
            assert first.value == second.value
            assert first.mod_revision == second.mod_revision
            assert int(first.value) in (number, number + 1)
        oldest = await store.call(lambda file: file.oldest_revision)
        batch = await anext(store.watch("", oldest))
        first_change = max(oldest, 2)  # revision 1 is the empty store, where few enough followed to keep it
        assert {event.revision for event in batch.events} == set(range(first_change, read.revision + 1))
        await store.transact([], [Delete(key) for key in found])
        await store.close()


async def test_a_torn_write_ahead_log_gives_the_state_before_the_torn_commit(
    path: str, tmp_path: Path
) -> None:
    """The last bytes of the log are cut off, one piece after another: a prefix of the commits remains."""
    store = await reopened(path)
    for number in range(6):
        await store.transact([], [Put("a", b"%d" % number), Put(f"k{number}", b"")])
    log = Path(f"{path}-wal").read_bytes()
    base = Path(path).read_bytes()
    await store.close()
    copy = str(tmp_path / "copy.db")
    seen = set()
    for cut in range(0, min(len(log), 40_000), 997):
        for leftover in (f"{copy}-wal", f"{copy}-shm"):
            if os.path.exists(leftover):
                os.unlink(leftover)
        Path(copy).write_bytes(base)
        Path(f"{copy}-wal").write_bytes(log[: len(log) - cut])
        store = await reopened(copy)
        read = await store.range("k")
        keys = [entry.key for entry in read.entries]
        assert keys == [f"k{number}" for number in range(len(keys))]
        newest = await store.get("a")
        assert (newest is None and not keys) or (
            newest is not None and newest.value == b"%d" % (len(keys) - 1)
        )
        assert read.revision == 1 + len(keys)
        seen.add(len(keys))
        await store.close()
    assert 6 in seen
    assert min(seen) < 6
    shutil.rmtree(tmp_path, ignore_errors=True)


# --- a disk that refuses


class Faults:
    """Lets statements of the store fail as if the disk had refused them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.failing: set[str] = set()
        execute = SqliteFile._execute

        def patched(file: SqliteFile, statement: str, *values: object) -> sqlite3.Cursor:
            if statement.split()[0] in self.failing:
                raise MetadataWriteFailed(f"the metadata file {file.path}: {os.strerror(errno.EIO)}")
            return execute(file, statement, *values)

        monkeypatch.setattr(SqliteFile, "_execute", patched)


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    return Faults(monkeypatch)


async def test_a_refused_commit_fails_its_group_and_changes_nothing(
    store: SqliteMetadataStore, faults: Faults
) -> None:
    await store.transact([], [Put("a", b"1")])
    faults.failing = {"COMMIT"}
    results = await asyncio.gather(
        store.transact([], [Put("a", b"2")]), store.get("a"), return_exceptions=True
    )
    assert all(isinstance(result, MetadataWriteFailed) for result in results)
    faults.failing = set()
    entry = await store.get("a")
    assert entry is not None
    assert (entry.value, store.revision) == (b"1", 2)
    assert (await store.transact([], [Put("a", b"3")])).revision == 3


@pytest.mark.parametrize("fault", ["INSERT", "UPDATE", "DELETE"])
async def test_a_write_refused_in_the_middle_of_a_change_undoes_it(
    store: SqliteMetadataStore, faults: Faults, fault: str
) -> None:
    await store.transact([], [Put("a", b"1"), Put("b", b"1")])
    faults.failing = {fault}
    with pytest.raises(MetadataWriteFailed):
        await store.transact([], [Put("a", b"2"), Delete("b")])
    faults.failing = set()
    read = await store.range("")
    assert [(entry.key, entry.value) for entry in read.entries] == [("a", b"1"), ("b", b"1")]
    assert read.revision == 2
    watch = store.watch("", 2)
    assert len((await anext(watch)).events) == 2
    await store.transact([], [Put("a", b"3")])
    assert [event.value for event in (await anext(watch)).events] == [b"3"]


async def test_a_file_that_cannot_be_rolled_back_is_opened_anew(
    store: SqliteMetadataStore, faults: Faults
) -> None:
    await store.transact([], [Put("a", b"1")])
    watch = store.watch("", 3)
    for _ in range(3):
        faults.failing = {"COMMIT", "ROLLBACK"}
        with pytest.raises(MetadataWriteFailed):
            await store.transact([], [Put("a", b"2")])
        faults.failing = {"SELECT"}  # and opening it fails at first too
        with pytest.raises(MetadataWriteFailed):
            await store.get("a")
    faults.failing = set()
    entry = await store.get("a")
    assert entry is not None
    assert entry.value == b"1"
    assert (await store.transact([Compare("a", value=b"1")], [Put("a", b"3")])).succeeded
    async with asyncio.timeout(5):
        assert [event.value for event in (await anext(watch)).events] == [b"3"]


async def test_a_defect_in_one_call_leaves_nothing_of_it_behind(store: SqliteMetadataStore) -> None:
    def half(file: SqliteFile) -> None:
        file._execute("INSERT INTO entries VALUES (?, ?, 9, 9, 0)", b"half", b"")
        raise RuntimeError("a defect")

    with pytest.raises(RuntimeError):
        await store.call(half)
    assert (await store.range("")).entries == ()
    assert (await store.transact([], [Put("a", b"")])).revision == 2


async def test_a_full_disk_refuses_and_recovers(store: SqliteMetadataStore) -> None:
    """SQLite's own bound on its pages stands for the disk's."""

    def bound(pages: int) -> Callable[[SqliteFile], object]:
        return lambda file: file._execute(f"PRAGMA max_page_count = {pages}").fetchall()

    await store.transact([], [Put("small", b"1")])
    await store.call(bound(20))
    with pytest.raises(MetadataWriteFailed, match="full"):
        await store.transact([], [Put("large", bytes(500_000))])
    assert (await store.get("small")) is not None
    assert await store.get("large") is None
    await store.transact([], [Put("small", b"2")])
    await store.call(bound(1 << 20))
    assert (await store.transact([], [Put("large", bytes(500_000))])).revision == 4


# --- the thread


async def test_too_many_waiting_calls_are_refused(store: SqliteMetadataStore) -> None:
    go_on = threading.Event()
    blocked = asyncio.ensure_future(store.call(lambda _: go_on.wait(20)))
    await asyncio.sleep(0.05)
    waiting = [asyncio.ensure_future(store.get("a")) for _ in range(MAX_WAITING_CALLS)]
    await asyncio.sleep(0)
    with pytest.raises(StoreBusy):
        await store.get("a")
    go_on.set()
    assert await asyncio.gather(*waiting) == [None] * MAX_WAITING_CALLS
    assert await blocked
    assert await store.get("a") is None


async def test_a_cancelled_caller_changes_nothing_for_the_others(store: SqliteMetadataStore) -> None:
    tasks = [asyncio.create_task(store.transact([], [Put(f"{n}", b"")])) for n in range(20)]
    await asyncio.sleep(0)
    tasks[3].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[3], asyncio.CancelledError)
    assert [result.revision for n, result in enumerate(results) if n != 3]  # type: ignore[union-attr]
    assert len((await store.range("")).entries) in (19, 20)


async def test_close_finishes_what_waits(path: str, clock: SimulatedClock) -> None:
    store = await open_sqlite_store(path, clock)
    tasks = [asyncio.create_task(store.transact([], [Put(f"{n}", b"")])) for n in range(300)]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.gather(*tasks)
    assert not any(thread.name == "metadata-store" for thread in threading.enumerate())
    with pytest.raises(StoreClosed):
        await store.get("a")
    store = await reopened(path)
    assert len((await store.range("")).entries) == 300
    await store.close()


# --- leases and a loop that stood still


async def test_a_lease_outlives_a_loop_that_stood_still(
    store: SqliteMetadataStore, clock: SimulatedClock
) -> None:
    """The holder shares the loop: it gets to speak before the lease ends."""
    lease = await store.grant_lease(9_000)
    await store.transact([], [Put("leased", b"", lease)])
    kept = []

    def keep() -> None:
        kept.append(asyncio.ensure_future(store.keep_alive(lease)))
        clock.call_later(2_000, keep)

    clock.call_later(2_000, keep)
    for stall_ms in (7_500, 9_050, 20_000, 3_600_000):
        await clock.elapse(10_000)
        clock.stall(stall_ms)
        await clock.elapse(0)
        await clock.elapse(1_000)
    await asyncio.gather(*kept)
    assert await store.get("leased") is not None


async def test_an_expiry_that_the_disk_refused_ends_the_lease_all_the_same(
    store: SqliteMetadataStore, clock: SimulatedClock, faults: Faults
) -> None:
    lease = await store.grant_lease(1_000)
    await store.transact([], [Put("leased", b"", lease)])
    faults.failing = {"COMMIT"}
    await clock.elapse(1_200)
    with pytest.raises(MetadataWriteFailed):
        await store.get("leased")
    faults.failing = set()
    with pytest.raises(LeaseNotFound):
        await store.keep_alive(lease)
    assert await store.get("leased") is not None  # until the next start, or the holder puts it anew
