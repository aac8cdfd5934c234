"""What every metadata store promises (cluster/store.py), asked of each that there is.

A store joins by one more entry in `WORLDS`: how it is opened, how time passes for it, how its history is
forgotten.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Protocol

import pytest
from tests.support.memory_store import MemoryStore
from tests.support.simulated_clock import SimulatedClock, settle

from mainstem.cluster.errors import (
    DuplicateKey,
    IllegalKey,
    LeaseNotFound,
    RevisionCompacted,
    StoreClosed,
    TransactionTooLarge,
)
from mainstem.cluster.sqlite_store import SqliteMetadataStore, open_sqlite_store
from mainstem.cluster.store import (
    MAX_TRANSACTION_BYTES,
    MAX_TRANSACTION_OPERATIONS,
    Compare,
    Delete,
    Event,
    Get,
    MetadataStore,
    Operation,
    Put,
    Watch,
)

PREFIX = "/contract/"


class World(Protocol):
    store: MetadataStore

    async def elapse(self, delay_ms: float) -> None:
        """Lets leases run out whose time is over by then."""
        ...

    async def compact(self, oldest_revision: int) -> None: ...


class MemoryWorld:
    def __init__(self, store: MemoryStore, clock: SimulatedClock) -> None:
        self.store = store
        self._clock = clock

    async def elapse(self, delay_ms: float) -> None:
        await self._clock.elapse(delay_ms)

    async def compact(self, oldest_revision: int) -> None:
        await self.store.compact(oldest_revision)


class SqliteWorld:
    def __init__(self, store: SqliteMetadataStore, clock: SimulatedClock) -> None:
        self.store = store
        self._clock = clock

    async def elapse(self, delay_ms: float) -> None:
        await self._clock.elapse(delay_ms)
        await self.store.get("/")  # the thread serves in order: what time set off is done

    async def compact(self, oldest_revision: int) -> None:
        await self.store.compact(oldest_revision)


async def _memory(_: Path) -> World:
    clock = SimulatedClock()
    return MemoryWorld(MemoryStore(clock), clock)


async def _sqlite(directory: Path) -> World:
    clock = SimulatedClock()
    return SqliteWorld(await open_sqlite_store(str(directory / "metadata.db"), clock), clock)


WORLDS = {"memory": _memory, "sqlite": _sqlite}


@pytest.fixture(params=WORLDS)
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    made = await WORLDS[request.param](tmp_path)
    yield made
    await made.store.close()


@pytest.fixture
def store(world: World) -> MetadataStore:
    return world.store


async def put(store: MetadataStore, name: str, value: bytes, lease_id: int = 0) -> int:
    result = await store.transact([], [Put(PREFIX + name, value, lease_id)])
    assert result.succeeded
    return result.revision


async def value_of(store: MetadataStore, name: str) -> bytes | None:
    entry = await store.get(PREFIX + name)
    return None if entry is None else entry.value


# --- keys, values, revisions


async def test_a_put_is_read_back_with_its_revisions(store: MetadataStore) -> None:
    first = await put(store, "a", b"1")
    second = await put(store, "a", b"2")
    entry = await store.get(PREFIX + "a")
    assert entry is not None
    assert (entry.key, entry.value, entry.lease_id) == (PREFIX + "a", b"2", 0)
    assert (entry.create_revision, entry.mod_revision) == (first, second)
    assert second == first + 1


async def test_a_key_made_again_has_a_new_creation(store: MetadataStore) -> None:
    await put(store, "a", b"1")
    await store.transact([], [Delete(PREFIX + "a")])
    assert await store.get(PREFIX + "a") is None
    again = await put(store, "a", b"")
    entry = await store.get(PREFIX + "a")
    assert entry is not None
    assert (entry.value, entry.create_revision, entry.mod_revision) == (b"", again, again)


async def test_a_transaction_makes_one_revision_and_one_that_changes_nothing_none(
    store: MetadataStore,
) -> None:
    before = await put(store, "x", b"")
    result = await store.transact([], [Put(PREFIX + "a", b"1"), Delete(PREFIX + "x"), Put(PREFIX + "b", b"")])
    assert result.revision == before + 1
    nothing = await store.transact([], [Delete(PREFIX + "missing"), Get(PREFIX + "a")])
    assert nothing.succeeded
    assert nothing.revision == before + 1
    empty = await store.transact([], [])
    assert empty.revision == before + 1


async def test_a_range_is_in_order_of_the_keys_bytes(store: MetadataStore) -> None:
    names = ["z", "é", "a/b", "a", "\U0001f600", "a\x00", "ｚ", "B"]
    for name in names:
        await put(store, name, name.encode())
    await store.transact([], [Put("/contract0", b"not under the prefix"), Put("/contract", b"nor this")])
    read = await store.range(PREFIX)
    assert [entry.key for entry in read.entries] == sorted((PREFIX + n for n in names), key=str.encode)
    assert read.revision == (await store.transact([], [])).revision
    everything = await store.range("")
    assert len(everything.entries) == len(names) + 2


async def test_a_prefix_that_ends_in_a_multi_byte_character(store: MetadataStore) -> None:
    for name in ("é", "éa", "ê", "e"):
        await put(store, name, b"")
    read = await store.range(PREFIX + "é")
    assert [entry.key for entry in read.entries] == [PREFIX + "é", PREFIX + "éa"]


# --- compares


@pytest.mark.parametrize(
    ("compare", "holds"),
    [
        (Compare(PREFIX + "a", exists=True), True),
        (Compare(PREFIX + "a", exists=False), False),
        (Compare(PREFIX + "none", exists=False), True),
        (Compare(PREFIX + "none", exists=True), False),
        (Compare(PREFIX + "none", mod_revision=0), True),
        (Compare(PREFIX + "a", mod_revision=0), False),
        (Compare(PREFIX + "a", value=b"1"), True),
        (Compare(PREFIX + "a", value=b"2"), False),
        (Compare(PREFIX + "none", value=b""), False),
        (Compare(PREFIX + "a", value=b"1", exists=False), False),
        (Compare(PREFIX + "none"), True),
    ],
)
async def test_compare(store: MetadataStore, compare: Compare, holds: bool) -> None:
    await put(store, "a", b"1")
    result = await store.transact([compare], [Put(PREFIX + "then", b"")], [Put(PREFIX + "else", b"")])
    assert result.succeeded is holds
    assert (await value_of(store, "then") is not None) is holds
    assert (await value_of(store, "else") is not None) is not holds


async def test_all_compares_must_hold(store: MetadataStore) -> None:
    revision = await put(store, "a", b"1")
    right, wrong = Compare(PREFIX + "a", mod_revision=revision), Compare(PREFIX + "b", exists=True)
    refused = await store.transact([right, wrong], [Put(PREFIX + "a", b"2")])
    assert not refused.succeeded
    assert refused.revision == revision
    assert (await store.transact([right], [Put(PREFIX + "a", b"2")])).succeeded
    assert not (await store.transact([right], [Put(PREFIX + "a", b"3")])).succeeded
    assert await value_of(store, "a") == b"2"


async def test_gets_of_the_branch_that_ran_are_answered_in_order(store: MetadataStore) -> None:
    await put(store, "a", b"1")
    compares = [Compare(PREFIX + "a", exists=False)]
    result = await store.transact(
        compares, [Get(PREFIX + "zzz")], [Get(PREFIX + "none"), Get(PREFIX + "a"), Put(PREFIX + "b", b"")]
    )
    assert not result.succeeded
    none, found = result.found
    assert none is None
    assert found is not None
    assert found.value == b"1"


async def test_of_many_claims_at_once_one_wins(store: MetadataStore) -> None:
    async def claim(number: int) -> bool:
        key = PREFIX + "claim"
        result = await store.transact([Compare(key, exists=False)], [Put(key, str(number).encode())])
        return result.succeeded

    won = await asyncio.gather(*(claim(number) for number in range(50)))
    assert won.count(True) == 1
    assert await value_of(store, "claim") == str(won.index(True)).encode()


async def test_counters_by_compare_and_swap_lose_nothing(store: MetadataStore) -> None:
    async def add_one() -> None:
        while True:
            entry = await store.get(PREFIX + "n")
            count = int(entry.value) if entry else 0
            at = entry.mod_revision if entry else 0
            put_next = Put(PREFIX + "n", str(count + 1).encode())
            if (await store.transact([Compare(PREFIX + "n", mod_revision=at)], [put_next])).succeeded:
                return

    await asyncio.gather(*(add_one() for _ in range(20)))
    assert await value_of(store, "n") == b"20"


# --- limits


async def test_limits(store: MetadataStore) -> None:
    most = [Put(f"{PREFIX}{n}", b"") for n in range(MAX_TRANSACTION_OPERATIONS)]
    assert (await store.transact([], most)).succeeded
    with pytest.raises(TransactionTooLarge):
        await store.transact([], [*most, Put(PREFIX + "more", b"")])
    with pytest.raises(TransactionTooLarge):
        await store.transact([], [], [*most, Put(PREFIX + "more", b"")])
    with pytest.raises(TransactionTooLarge):
        await store.transact([Compare(f"{n}") for n in range(MAX_TRANSACTION_OPERATIONS + 1)], [])
    large = bytes(MAX_TRANSACTION_BYTES - len(PREFIX) - 1)
    assert await put(store, "l", large)
    assert await value_of(store, "l") == large
    with pytest.raises(TransactionTooLarge):
        await put(store, "l", large + b"1")
    assert await value_of(store, "more") is None


async def test_keys_count_with_their_bytes(store: MetadataStore) -> None:
    with pytest.raises(TransactionTooLarge):
        await put(store, "é" * (MAX_TRANSACTION_BYTES // 2), b"")


async def test_no_key_is_written_twice_in_one_branch(store: MetadataStore) -> None:
    for second in (Put(PREFIX + "a", b"2"), Delete(PREFIX + "a")):
        with pytest.raises(DuplicateKey):
            await store.transact([], [Put(PREFIX + "a", b"1"), second])
    result = await store.transact(
        [Compare(PREFIX + "a", exists=False)], [Put(PREFIX + "a", b"1")], [Delete(PREFIX + "a")]
    )
    assert result.succeeded


async def test_a_key_that_is_not_text_is_refused_whole(store: MetadataStore) -> None:
    bad = "\ud800"
    before = (await store.transact([], [])).revision
    operations: list[list[Operation]] = [
        [Put(PREFIX + "a", b"1"), Put(PREFIX + bad, b"2")],
        [Delete(PREFIX + bad)],
        [Get(bad)],
    ]
    for branch in operations:
        with pytest.raises(IllegalKey):
            await store.transact([], branch)
    with pytest.raises(IllegalKey):
        await store.transact([Compare(bad, exists=False)], [])
    assert await value_of(store, "a") is None
    assert (await store.transact([], [])).revision == before


# --- watches


class Follower:
    """Collects what a watch brings."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.events: list[Event] = []
        self.revisions: list[int] = []
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        async for batch in self.watch:
            assert batch.events
            assert batch.revision >= batch.events[-1].revision
            self.events += batch.events
            self.revisions.append(batch.revision)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                if self.task.done():
                    self.task.result()
                    raise AssertionError("the watch ended")
                await asyncio.sleep(0.001)

    async def close(self) -> None:
        self.watch.close()
        async with asyncio.timeout(10):
            await self.task


async def test_a_watch_brings_each_change_of_its_prefix_once_and_in_order(store: MetadataStore) -> None:
    start = (await store.transact([], [])).revision
    follower = Follower(store.watch(PREFIX + "in/", start + 1))
    expected = []
    for number in range(60):
        key = f"{PREFIX}{'in' if number % 3 else 'out'}/{number % 7}"
        result = await store.transact([], [Delete(key) if number % 5 == 0 else Put(key, b"%d" % number)])
        expected.append((key, result.revision))
        if number % 10 == 0:
            await asyncio.sleep(0)
    last = await put(store, "in/end", b"")
    await follower.until(lambda: bool(follower.events) and follower.events[-1].revision == last)
    await follower.close()
    revisions = [event.revision for event in follower.events]
    assert revisions == sorted(set(revisions))
    puts = [(e.key, e.revision) for e in follower.events if e.value is not None][:-1]
    assert puts == [
        (key, at)
        for number, (key, at) in enumerate(expected)
        if key.startswith(PREFIX + "in/") and number % 5 != 0
    ]
    assert follower.revisions == sorted(follower.revisions)


async def test_read_then_watch_from_the_next_revision_misses_and_doubles_nothing(
    store: MetadataStore,
) -> None:
    """Writers go on while readers load and follow: each reader ends with what the store holds."""

    async def write(number: int) -> None:
        for step in range(40):
            key = f"{PREFIX}{(number * 7 + step) % 11}"
            await store.transact([], [Delete(key) if step % 4 == 3 else Put(key, b"%d.%d" % (number, step))])
            await asyncio.sleep(0)

    async def follow() -> tuple[dict[str, bytes], Follower]:
        await asyncio.sleep(0.002)
        read = await store.range(PREFIX)
        image = {entry.key: entry.value for entry in read.entries}
        return image, Follower(store.watch(PREFIX, read.revision + 1))

    writers = [asyncio.create_task(write(number)) for number in range(4)]
    readers = [await follow() for _ in range(4)]
    await asyncio.gather(*writers)
    last = await put(store, "end", b"end")
    truth = {entry.key: entry.value for entry in (await store.range(PREFIX)).entries}
    for image, follower in readers:
        await follower.until(lambda f=follower: bool(f.events) and f.events[-1].revision == last)
        await follower.close()
        for event in follower.events:
            if event.value is None:
                assert image.pop(event.key) is not None
            else:
                image[event.key] = event.value
        assert image == truth


async def test_a_watch_may_start_in_the_past_and_in_the_future(store: MetadataStore) -> None:
    first = await put(store, "a", b"1")
    await put(store, "a", b"2")
    past = Follower(store.watch(PREFIX, first))
    future = Follower(store.watch(PREFIX, first + 3))
    await put(store, "a", b"3")
    await put(store, "a", b"4")
    await past.until(lambda: len(past.events) == 4)
    await future.until(lambda: len(future.events) == 1)
    assert [event.value for event in past.events] == [b"1", b"2", b"3", b"4"]
    assert [event.value for event in future.events] == [b"4"]
    await past.close()
    await future.close()


async def test_a_transaction_is_never_seen_in_part(store: MetadataStore) -> None:
    start = (await store.transact([], [])).revision
    watch = store.watch(PREFIX, start + 1)
    for number in range(30):
        await store.transact([], [Put(f"{PREFIX}{n}", b"%d" % number) for n in range(100)])
    seen = 0
    async with asyncio.timeout(10):
        async for batch in watch:
            per_revision: dict[int, int] = {}
            for event in batch.events:
                per_revision[event.revision] = per_revision.get(event.revision, 0) + 1
            assert set(per_revision.values()) == {100}
            seen += len(batch.events)
            if seen == 3_000:
                break
    watch.close()


async def test_a_cancelled_read_of_a_watch_is_repeated(store: MetadataStore) -> None:
    start = (await store.transact([], [])).revision
    watch = store.watch(PREFIX, start + 1)
    seen: list[Event] = []
    for number in range(100):
        await put(store, f"{number}", b"")
        try:
            async with asyncio.timeout(0.0005 * (number % 3)):
                seen += (await anext(aiter(watch))).events
        except TimeoutError:
            pass
    while len(seen) < 100:
        async with asyncio.timeout(10):
            seen += (await anext(aiter(watch))).events
    assert [event.key for event in seen] == [f"{PREFIX}{number}" for number in range(100)]
    watch.close()


async def test_what_is_compacted_is_refused_and_the_rest_is_not(world: World) -> None:
    store = world.store
    first = await put(store, "a", b"1")
    kept = await put(store, "a", b"2")
    last = await put(store, "a", b"3")
    await world.compact(kept)
    with pytest.raises(RevisionCompacted) as caught:
        await anext(aiter(store.watch(PREFIX, first)))
    assert (caught.value.asked_revision, caught.value.oldest_revision) == (first, kept)
    batch = await anext(aiter(store.watch(PREFIX, kept)))
    assert [event.revision for event in batch.events] == [kept, last]
    assert await value_of(store, "a") == b"3"


async def test_a_closed_watch_ends_and_so_do_all_when_the_store_closes(world: World) -> None:
    store = world.store
    start = (await store.transact([], [])).revision
    closed, left = Follower(store.watch(PREFIX, start + 1)), Follower(store.watch(PREFIX, start + 1))
    await asyncio.sleep(0)
    await closed.close()
    await put(store, "a", b"")
    await left.until(lambda: len(left.events) == 1)
    assert not closed.events
    await store.close()
    async with asyncio.timeout(10):
        await left.task


# --- leases


async def test_keys_live_as_long_as_their_lease_is_kept_alive(world: World) -> None:
    store = world.store
    lease = await store.grant_lease(1_000)
    await put(store, "leased", b"1", lease)
    await put(store, "free", b"2")
    for _ in range(5):
        await world.elapse(900)
        await store.keep_alive(lease)
    assert await value_of(store, "leased") == b"1"
    await world.elapse(1_200)
    assert await value_of(store, "leased") is None
    assert await value_of(store, "free") == b"2"
    with pytest.raises(LeaseNotFound):
        await store.keep_alive(lease)
    with pytest.raises(LeaseNotFound):
        await put(store, "leased", b"1", lease)


async def test_the_keys_of_a_lease_vanish_in_one_revision_that_watches_see(world: World) -> None:
    store = world.store
    lease = await store.grant_lease(60_000)
    other = await store.grant_lease(60_000)
    await put(store, "a", b"1", lease)
    await put(store, "b", b"2", lease)
    last = await put(store, "c", b"3", other)
    follower = Follower(store.watch(PREFIX, last + 1))
    await store.revoke(lease)
    await follower.until(lambda: len(follower.events) == 2)
    assert follower.events == [
        Event(PREFIX + "a", None, last + 1),
        Event(PREFIX + "b", None, last + 1),
    ]
    await store.revoke(lease)  # once more is fine
    assert await value_of(store, "c") == b"3"
    await follower.close()


async def test_a_later_put_detaches_or_moves_a_key(world: World) -> None:
    store = world.store
    first, second = await store.grant_lease(1_000), await store.grant_lease(5_000)
    await put(store, "detached", b"1", first)
    await put(store, "detached", b"2")
    await put(store, "moved", b"1", first)
    await put(store, "moved", b"2", second)
    entry = await store.get(PREFIX + "moved")
    assert entry is not None
    assert entry.lease_id == second
    await world.elapse(2_000)
    assert await value_of(store, "detached") == b"2"
    assert await value_of(store, "moved") == b"2"
    await world.elapse(4_000)
    assert await value_of(store, "moved") is None


async def test_a_lease_without_keys_ends_quietly(world: World) -> None:
    before = (await world.store.transact([], [])).revision
    lease = await world.store.grant_lease(1_000)
    await world.elapse(1_500)
    with pytest.raises(LeaseNotFound):
        await world.store.keep_alive(lease)
    assert (await world.store.transact([], [])).revision == before


async def test_nothing_works_once_the_store_is_closed(world: World) -> None:
    store = world.store
    await store.close()
    await settle()
    with pytest.raises(StoreClosed):
        await store.get("a")
    with pytest.raises(StoreClosed):
        await store.transact([], [Put("a", b"")])
    await store.close()
