"""A node's place in the cluster: kept, lost and taken again; and who controls."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.support.memory_store import MemoryStore
from tests.support.simulated_clock import SimulatedClock, settle
from tests.unit.cluster.node import Node, numbered_bytes

from mainstem.cluster import keys
from mainstem.cluster.errors import (
    ClusterIdMismatch,
    EntryUnreadable,
    MetadataWriteFailed,
    NodeIdInUse,
    StoreBusy,
)
from mainstem.cluster.membership import SESSION_TIMEOUT_MS, Membership, Registration, ensure_cluster_id
from mainstem.cluster.sqlite_store import open_sqlite_store
from mainstem.cluster.store import Put
from mainstem.core.image import Endpoint


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock()


@pytest.fixture
def store(clock: SimulatedClock) -> MemoryStore:
    return MemoryStore(clock)


# --- the cluster's id


async def test_the_first_node_makes_the_clusters_id_and_others_find_it(store: MemoryStore) -> None:
    made = await asyncio.gather(*(ensure_cluster_id(store) for _ in range(5)))
    assert len(set(made)) == 1
    assert len(made[0]) == 22
    assert await ensure_cluster_id(store, expected=made[0]) == made[0]


async def test_the_clusters_id_never_begins_with_a_dash(store: MemoryStore) -> None:
    answers = iter([b"\xf8" + bytes(15), b"\xfb" * 16, b"\x10" * 16])  # the first two begin with "-"
    made = await ensure_cluster_id(store, random_bytes=lambda _: next(answers))
    assert not made.startswith("-")


async def test_directories_of_another_cluster_are_refused(store: MemoryStore) -> None:
    await ensure_cluster_id(store)
    with pytest.raises(ClusterIdMismatch, match="directories belong to cluster other"):
        await ensure_cluster_id(store, expected="other")


async def test_an_id_that_cannot_be_read_is_an_error(store: MemoryStore) -> None:
    await store.transact([], [Put(keys.CLUSTER, b"{")])
    with pytest.raises(EntryUnreadable):
        await ensure_cluster_id(store)


# --- registration


async def test_a_member_is_in_the_image_under_its_epoch(clock: SimulatedClock) -> None:
    node = await Node(7, clock=clock).start()
    me = node.image.brokers[7]
    assert (me.host, me.port, me.epoch) == ("127.0.0.1", 9007, node.membership.epoch)
    assert node.image.controller_id == 7
    assert node.membership.fence
    await node.stop()
    assert (node.membership.epoch, node.membership.fence) == (0, 0)
    assert (await node.store.range(keys.BROKERS)).entries == ()
    assert clock.pending == 0


async def test_endpoints_and_rack_are_told(store: MemoryStore, clock: SimulatedClock) -> None:
    watcher = await Node(1, store=store, clock=clock).start()
    member = Membership(store, clock)
    endpoints = (Endpoint("PLAIN", "a", 1), Endpoint("SECURE", "b", 2, "SSL"))
    epoch = await member.join(Registration(2, "a", 1, "rack-1", endpoints))
    await watcher.follower.wait_for(epoch)
    seen = watcher.image.brokers[2]
    assert (seen.rack, seen.endpoints, seen.epoch) == ("rack-1", endpoints, epoch)
    await member.leave()
    await watcher.stop()


async def test_a_place_is_kept_for_days(clock: SimulatedClock) -> None:
    node = await Node(clock=clock).start()
    epoch, fence = node.membership.epoch, node.membership.fence
    await clock.elapse(600_000)
    assert (node.membership.epoch, node.membership.fence) == (epoch, fence)
    assert node.memory.revision == max(epoch, fence)  # keeping it writes nothing
    await node.stop()


async def test_a_lost_place_is_taken_again_under_a_new_epoch(clock: SimulatedClock) -> None:
    node = await Node(clock=clock).start()
    before = node.membership.epoch
    node.memory.end_lease(1)
    await settle()
    assert 1 not in node.image.brokers
    assert node.image.controller_id == -1
    assert node.membership.fence == 0
    await clock.elapse(2_000)
    assert node.membership.epoch > before
    assert node.image.brokers[1].epoch == node.membership.epoch
    assert node.image.controller_id == 1
    entry = await node.store.get(keys.CONTROLLER)
    assert entry is not None
    assert node.membership.fence == entry.mod_revision
    await node.stop()


async def test_a_loop_that_stood_still_keeps_its_place_in_the_embedded_store(
    tmp_path: Path, clock: SimulatedClock
) -> None:
    store = await open_sqlite_store(str(tmp_path / "metadata.db"), clock)
    node = await Node(clock=clock, store=store).start()
    epoch = node.membership.epoch
    for stall_ms in (SESSION_TIMEOUT_MS - 1, SESSION_TIMEOUT_MS + 50, 10 * SESSION_TIMEOUT_MS):
        clock.stall(stall_ms)
        await clock.elapse(30_000)
    await store.get("")
    await settle()
    assert node.membership.epoch == epoch
    assert list(node.image.brokers) == [1]
    assert node.image.controller_id == 1
    await node.stop()
    await store.close()


async def test_a_live_node_keeps_its_id_for_itself(store: MemoryStore, clock: SimulatedClock) -> None:
    node = await Node(1, store=store, clock=clock).start()
    other = Membership(store, clock)
    joining = asyncio.create_task(other.join(Registration(1, "elsewhere", 1)))
    await clock.elapse(60_000)
    with pytest.raises(NodeIdInUse, match=r"node 1.*node\.id"):
        await joining
    assert node.image.brokers[1].host == "127.0.0.1"
    await node.stop()


async def test_the_place_of_a_dead_process_is_taken_once_its_lease_ends(
    store: MemoryStore, clock: SimulatedClock
) -> None:
    dead = await store.grant_lease(SESSION_TIMEOUT_MS)
    await store.transact([], [Put(keys.broker_key(1), b'{"host":"a","port":1,"incarnation":"dead"}', dead)])
    await store.transact([], [Put(keys.CONTROLLER, b'{"node_id":1}', dead)])
    member = Membership(store, clock)
    joining = asyncio.create_task(member.join(Registration(1, "a", 2)))
    await clock.elapse(1_000)
    assert not joining.done()
    await clock.elapse(SESSION_TIMEOUT_MS + 2_000)
    assert await joining == member.epoch > 0
    assert member.fence
    await member.leave()


async def test_an_error_while_renewing_is_tried_again(
    clock: SimulatedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = await Node(clock=clock).start()
    epoch = node.membership.epoch
    keep_alive = node.memory.keep_alive
    failures = iter([StoreBusy("busy"), None, RuntimeError("a defect"), None, None, None])

    async def flaky(lease_id: int) -> None:
        error = next(failures, None)
        if error is not None:
            raise error
        await keep_alive(lease_id)

    monkeypatch.setattr(node.memory, "keep_alive", flaky)
    await clock.elapse(20_000)
    assert node.membership.epoch == epoch
    await node.stop()


async def test_joining_again_is_tried_until_the_store_takes_it(clock: SimulatedClock) -> None:
    node = await Node(clock=clock).start()
    node.memory.failures.extend([MetadataWriteFailed("full")] * 5)
    node.memory.end_lease(1)
    await clock.elapse(30_000)
    assert not node.memory.failures
    assert node.image.brokers[1].epoch == node.membership.epoch
    assert node.image.controller_id == 1
    assert node.membership.fence
    await node.stop()


# --- control


async def test_one_of_many_members_controls_and_another_takes_over(
    store: MemoryStore, clock: SimulatedClock
) -> None:
    nodes = [await Node(n, store=store, clock=clock).start() for n in (1, 2, 3)]
    assert [bool(node.membership.fence) for node in nodes] == [True, False, False]
    await nodes[0].stop()
    await settle()
    leading = [node for node in nodes[1:] if node.membership.fence]
    assert len(leading) == 1
    for node in nodes[1:]:
        assert node.image.controller_id == leading[0].node_id
        assert 1 not in node.image.brokers
    for node in nodes[1:]:
        await node.stop()


async def test_a_claim_that_the_store_refused_is_made_again(clock: SimulatedClock) -> None:
    node = Node(clock=clock)
    node.memory.failures.extend([None, None, MetadataWriteFailed("full")])  # id, registration, claim
    await ensure_cluster_id(node.store, random_bytes=numbered_bytes)
    await node.follower.start()
    with pytest.raises(MetadataWriteFailed):
        await node.membership.join(Registration(1, "a", 1))
    await node.stop()

    node = await Node(clock=clock).start()
    node.memory.failures.extend([None, MetadataWriteFailed("full"), MetadataWriteFailed("full")])
    node.memory.end_lease(1)  # the registration is taken, two claims are not
    await clock.elapse(2_000)
    assert not node.membership.fence
    await clock.elapse(4_000)
    assert node.membership.fence
    assert node.image.controller_id == 1
    await node.stop()


async def test_a_claim_whose_answer_was_lost_is_known_again(clock: SimulatedClock) -> None:
    node = await Node(clock=clock).start()
    node.memory.failures_after.extend([None, MetadataWriteFailed("the answer was lost")])
    node.memory.end_lease(1)
    await clock.elapse(8_000)
    entry = await node.store.get(keys.CONTROLLER)
    assert entry is not None
    assert node.membership.fence == entry.mod_revision
    await node.stop()


async def test_an_old_image_does_not_take_a_newer_claim_away(clock: SimulatedClock) -> None:
    """The image in which the controller vanished is applied slowly, and the node is back before that."""
    node = await Node(clock=clock).start()
    slow = asyncio.Event()

    async def hold(*_: object) -> None:
        await slow.wait()

    node.follower._subscribers.insert(0, hold)
    node.memory.end_lease(1)
    await clock.elapse(2_000)  # joined again, while the image in which it is away is being applied
    fence = node.membership.fence
    assert fence > node.image.revision
    slow.set()
    await settle()
    assert node.image.controller_id == 1
    assert node.membership.fence == fence
    await node.stop()


async def test_leaving_in_the_middle_of_anything_leaves_no_timer(clock: SimulatedClock) -> None:
    for wait_ms in (0, 1_000, 2_000, 3_000):
        node = await Node(clock=clock).start()
        node.memory.end_lease(1)
        node.memory.failures.extend([MetadataWriteFailed("full")] * 3)
        await clock.elapse(wait_ms)
        node.memory.failures.clear()
        await node.stop()
        await clock.elapse(SESSION_TIMEOUT_MS)  # a lease that was taken and not used runs out
        assert clock.pending == 0
