"""The follower: every room applies a change, in order, before anybody sees it or goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from random import Random

import pytest
from tests.support.memory_store import MemoryStore
from tests.support.simulated_clock import SimulatedClock, settle
from tests.unit.cluster.node import topic_of

from mainstem.cluster import follower as follower_module
from mainstem.cluster import keys
from mainstem.cluster.entries import encode_options, encode_topic
from mainstem.cluster.errors import MetadataWriteFailed, StoreBusy, StoreClosed
from mainstem.cluster.follower import MetadataFollower
from mainstem.cluster.image_builder import EMPTY_IMAGE, next_image
from mainstem.cluster.store import Delete, Event, Put
from mainstem.core.image import ClusterImage, MetadataDelta


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(SimulatedClock())


@pytest.fixture
async def follower(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MetadataFollower]:
    monkeypatch.setattr(follower_module, "RETRY_DELAY_S", 0.001)
    made = MetadataFollower(store)
    yield made
    await made.close()


def put_topic(name: str, count: int = 1) -> Put:
    return Put(keys.topic_key(name), encode_topic(topic_of(name, count)))


async def create(store: MemoryStore, *names: str) -> int:
    return (await store.transact([], [put_topic(name) for name in names])).revision


async def test_a_start_is_a_delta_in_which_everything_is_new(
    store: MemoryStore, follower: MetadataFollower
) -> None:
    await create(store, "a", "b")
    await store.transact([], [Put(keys.config_key("broker", ""), encode_options({"x": "1"}))])
    seen: list[MetadataDelta] = []
    follower.subscribe(lambda _, delta: seen.append(delta))
    image = await follower.start()
    assert image.revision == 3
    assert list(image.topics) == ["a", "b"]
    (delta,) = seen
    assert [topic.name for topic in delta.created] == ["a", "b"]
    assert delta.broker_configs_changed
    assert not delta.other_configs_changed
    assert not delta.changed
    assert not delta.removed


async def test_rooms_apply_in_the_order_of_subscription_before_the_image_shows(
    store: MemoryStore, follower: MetadataFollower
) -> None:
    steps: list[str] = []

    async def slow(image: ClusterImage, _: MetadataDelta) -> None:
        steps.append(f"slow begins {image.revision}, shown {follower.image.revision}")
        await asyncio.sleep(0.001)
        steps.append("slow ends")

    def quick(image: ClusterImage, _: MetadataDelta) -> None:
        steps.append(f"quick {image.revision}, shown {follower.image.revision}")

    follower.subscribe(slow)
    follower.subscribe(quick)
    await follower.start()
    steps.clear()
    revision = await create(store, "a")
    await follower.wait_for(revision)
    steps.append(f"waiter, shown {follower.image.revision}")
    assert steps == ["slow begins 2, shown 1", "slow ends", "quick 2, shown 1", "waiter, shown 2"]


async def test_no_change_overtakes_one_that_is_being_applied(
    store: MemoryStore, follower: MetadataFollower
) -> None:
    applying = 0
    revisions: list[int] = []

    async def apply(image: ClusterImage, _: MetadataDelta) -> None:
        nonlocal applying
        applying += 1
        assert applying == 1
        await asyncio.sleep(0.001)
        revisions.append(image.revision)
        applying -= 1

    follower.subscribe(apply)
    await follower.start()
    for number in range(10):
        last = await create(store, f"t{number}")
    await follower.wait_for(last)
    assert revisions == sorted(revisions)
    assert len(follower.image.topics) == 10


async def test_waiters_go_on_in_order_and_not_too_early(
    store: MemoryStore, follower: MetadataFollower
) -> None:
    await follower.start()
    done: list[int] = []

    async def wait(revision: int) -> None:
        await follower.wait_for(revision)
        assert follower.image.revision >= revision
        done.append(revision)

    waits = [asyncio.create_task(wait(revision)) for revision in (5, 3, 4, 2, 1, 3)]
    await settle()
    assert done == [1]
    waits[1].cancel()
    for _ in range(4):
        await create(store, "a")
    await asyncio.gather(*waits, return_exceptions=True)
    assert sorted(done) == [1, 2, 3, 4, 5]
    assert done == sorted(done)


async def test_a_room_that_fails_does_not_stop_the_others(
    store: MemoryStore, follower: MetadataFollower, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[int] = []

    def failing(*_: object) -> None:
        raise RuntimeError("a defect")

    async def failing_later(*_: object) -> None:
        await asyncio.sleep(0)
        raise RuntimeError("another defect")

    follower.subscribe(failing)
    follower.subscribe(failing_later)
    follower.subscribe(lambda image, _: seen.append(image.revision))
    await follower.start()
    revision = await create(store, "a")
    await follower.wait_for(revision)
    assert seen == [1, 2]
    assert "a defect" in caplog.text
    assert "another defect" in caplog.text


async def test_a_follower_that_fell_behind_reads_all_again_and_makes_one_delta(
    store: MemoryStore, follower: MetadataFollower
) -> None:
    """While a room is slow, more happens than history keeps; one topic goes, one comes, one is made anew."""
    deltas: list[MetadataDelta] = []
    go_on = asyncio.Event()

    async def slow(_: ClusterImage, delta: MetadataDelta) -> None:
        deltas.append(delta)
        await go_on.wait()

    await create(store, "gone", "kept", "anew", "grows")
    await follower.start()
    follower.subscribe(slow)
    await create(store, "first")
    await settle()
    await store.transact([], [Delete(keys.topic_key("gone")), Delete(keys.topic_key("anew"))])
    anew = topic_of("anew", 2)
    await store.transact(
        [],
        [
            Put(
                keys.topic_key("anew"),
                encode_topic(type(anew)("anew", type(anew.topic_id)(b"0" * 16), anew.partitions)),
            )
        ],
    )
    await store.transact([], [put_topic("grows", 3)])
    last = await create(store, "comes")
    await store.compact(last)
    go_on.set()
    await follower.wait_for(last)
    assert len(deltas) == 2
    delta = deltas[1]
    assert sorted(topic.name for topic in delta.removed) == ["anew", "gone"]
    assert sorted(topic.name for topic in delta.created) == ["anew", "comes"]
    assert [topic.name for topic in delta.changed] == ["grows"]
    assert sorted(follower.image.topics) == ["anew", "comes", "first", "grows", "kept"]
    assert follower.image.topics["anew"].topic_id == b"0" * 16
    assert set(follower.image.topics_by_id) == {t.topic_id for t in follower.image.topics.values()}


@pytest.mark.parametrize("error", [MetadataWriteFailed("eio"), StoreBusy("busy")])
async def test_a_read_that_fails_for_a_while_is_repeated(
    store: MemoryStore, follower: MetadataFollower, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    await follower.start()
    events, read_range = store.events, store.range
    failures = [error] * 3

    def failing_events(prefix: str, revision: int) -> object:
        if failures:
            raise failures.pop()
        return events(prefix, revision)

    async def failing_range(prefix: str) -> object:
        if failures:
            raise failures.pop()
        return await read_range(prefix)

    monkeypatch.setattr(store, "events", failing_events)
    monkeypatch.setattr(store, "range", failing_range)
    async with asyncio.timeout(5):
        await follower.wait_for(await create(store, "a"))
    assert not failures
    revision = await create(store, "b")
    await store.compact(revision)
    failures.extend([error] * 3)  # now the reload fails for a while
    store.oldest_revision = revision + 1
    revision = await create(store, "c")
    async with asyncio.timeout(5):
        await follower.wait_for(revision)
    assert follower.failure is None


async def test_an_entry_that_cannot_be_read_stops_the_follower_and_says_so(
    store: MemoryStore, follower: MetadataFollower
) -> None:
    await follower.start()
    waiting = asyncio.create_task(follower.wait_for(99))
    revision = (await store.transact([], [Put(keys.topic_key("bad"), b"{")])).revision
    await settle()
    assert follower.failure is not None
    with pytest.raises(Exception, match="topics/bad"):
        await waiting
    with pytest.raises(StoreClosed):
        await follower.wait_for(revision)
    await follower.wait_for(1)  # what it had, it has


async def test_closing_releases_who_waits(follower: MetadataFollower) -> None:
    await follower.start()
    waiting = asyncio.create_task(follower.wait_for(99))
    await settle()
    await follower.close()
    with pytest.raises(StoreClosed):
        await waiting
    with pytest.raises(StoreClosed):
        await follower.wait_for(99)
    await follower.close()


async def test_a_closed_store_releases_who_waits(store: MemoryStore, follower: MetadataFollower) -> None:
    await follower.start()
    waiting = asyncio.create_task(follower.wait_for(99))
    await settle()
    await store.close()
    with pytest.raises(StoreClosed):
        await waiting


@pytest.mark.parametrize("seed", range(10))
async def test_deltas_lead_from_image_to_image_whatever_happens(seed: int) -> None:
    """Random changes, random history, rooms of random slowness: replaying the deltas gives the image."""
    chance = Random(seed)
    store = MemoryStore(SimulatedClock())
    follower = MetadataFollower(store)
    replayed: dict[str, object] = {}

    async def apply(image: ClusterImage, delta: MetadataDelta) -> None:
        for topic in delta.removed:
            assert replayed.pop(topic.name) == topic
        for topic in delta.created:
            assert topic.name not in replayed
            replayed[topic.name] = topic
        for topic in delta.changed:
            assert replayed[topic.name] != topic
            replayed[topic.name] = topic
        if chance.random() < 0.5:
            await asyncio.sleep(0.0001)
        assert replayed == dict(image.topics)

    follower.subscribe(apply)
    await follower.start()
    for step in range(150):
        name = f"t{chance.randrange(8)}"
        topic = topic_of(name, chance.randint(1, 3))
        if chance.random() < 0.3:
            topic = type(topic)(name, type(topic.topic_id)(chance.randbytes(16)), topic.partitions)
        change = Delete(keys.topic_key(name)) if chance.random() < 0.3 else None
        await store.transact([], [change or Put(keys.topic_key(name), encode_topic(topic))])
        if chance.random() < 0.1:
            await store.compact(store.revision)
        if chance.random() < 0.3:
            await asyncio.sleep(0)
        if step % 50 == 49:
            await follower.wait_for(store.revision)
    await follower.wait_for(store.revision)
    read = await store.range(keys.ROOT)
    fresh, _ = next_image(EMPTY_IMAGE, [Event(e.key, e.value, e.mod_revision) for e in read.entries], 1)
    assert follower.image.topics == fresh.topics
    assert follower.image.topics_by_id == fresh.topics_by_id
    await follower.close()
