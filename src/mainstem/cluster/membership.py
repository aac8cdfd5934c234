"""This node as a member of the cluster: its registration, its cluster's id, its claim to control.

A node is a member while its broker key stands, which hangs on a lease that the node keeps alive.

    away --join--> member --lease lost--> joining again --> member --leave--> away

The revision at which the key was put is the node's broker epoch: it grows with each registration,
so that whoever remembers an older epoch knows that the node was away in between.

The controller is the node whose claim stands at the controller key, under the same lease. A claim is
a compare-and-swap on an absent key, so that there is one at most; its revision is the *fence*: every
change that a controller writes compares it, so that one which lost the claim without knowing can
no longer change anything. When the claim vanishes, every member tries to put its own.

Leadership of partitions does not move when a node is alone: its partitions name it as leader and
ISR, and they do so before, during and after a restart. So a restart writes two keys, whatever the
number of partitions, and leader epochs stay: an epoch tells apart the logs of different leaders, and
there has been one. (Kafka fences the node and elects it again, which raises every epoch at every
start.) An image without the node in `brokers` is how others see that it is away.
"""

from __future__ import annotations

import asyncio
import logging
import os
from base64 import urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mainstem.cluster import keys
from mainstem.cluster.entries import (
    BrokerEntry,
    ClusterEntry,
    ControllerEntry,
    broker_entry,
    decode_entry,
    encode_entry,
)
from mainstem.cluster.errors import ClusterIdMismatch, LeaseNotFound, NodeIdInUse, StoreClosed
from mainstem.cluster.image_builder import NO_CONTROLLER
from mainstem.cluster.store import Compare, Get, MetadataStore, Put
from mainstem.core.image import ClusterImage, Endpoint, MetadataDelta
from mainstem.ports.clock import Clock

SESSION_TIMEOUT_MS = 9_000
KEEP_ALIVE_INTERVAL_MS = 2_000

_log = logging.getLogger(__name__)

RandomBytes = Callable[[int], bytes]


async def ensure_cluster_id(
    store: MetadataStore, *, expected: str | None = None, random_bytes: RandomBytes = os.urandom
) -> str:
    """The cluster's id, made by the first node that asks. `expected`: what the data directories say."""
    made = expected or _new_cluster_id(random_bytes)
    result = await store.transact(
        [Compare(keys.CLUSTER, exists=False)],
        [Put(keys.CLUSTER, encode_entry(ClusterEntry(cluster_id=made)))],
        [Get(keys.CLUSTER)],
    )
    if result.succeeded:
        return made
    (entry,) = result.found
    if entry is None:
        raise StoreClosed("the cluster's entry vanished while it was read")
    found = decode_entry(ClusterEntry, keys.CLUSTER, entry.value).cluster_id
    if expected is not None and expected != found:
        raise ClusterIdMismatch(expected, found)
    return found


def _new_cluster_id(random_bytes: RandomBytes) -> str:
    """22 characters, as Kafka makes them: no leading dash, which command lines would take for a flag."""
    while True:
        text = urlsafe_b64encode(random_bytes(16)).rstrip(b"=").decode("ascii")
        if not text.startswith("-"):
            return text


@dataclass(frozen=True, slots=True)
class Registration:
    """What a node tells the others of itself."""

    node_id: int
    host: str
    port: int
    rack: str | None = None
    endpoints: Sequence[Endpoint] = ()


class Membership:
    def __init__(
        self,
        store: MetadataStore,
        clock: Clock,
        *,
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
        keep_alive_interval_ms: int = KEEP_ALIVE_INTERVAL_MS,
        random_bytes: RandomBytes = os.urandom,
    ) -> None:
        self._store = store
        self._clock = clock
        self._session_timeout_ms = session_timeout_ms
        self._keep_alive_interval_ms = keep_alive_interval_ms
        self._incarnation = random_bytes(16).hex()
        self._registration: Registration | None = None
        self._lease_id = 0
        self._epoch = 0
        self._fence = 0
        self._controller_id = NO_CONTROLLER  # as far as this node's image knows
        self._keeper: asyncio.Task[None] | None = None
        self._claims: set[asyncio.Task[None]] = set()
        self._one_claim = asyncio.Lock()

    @property
    def epoch(self) -> int:
        """Of the present registration; 0: not a member."""
        return self._epoch

    @property
    def fence(self) -> int:
        """The revision of this node's claim to control; 0: it has none, as far as it knows."""
        return self._fence

    async def join(self, registration: Registration) -> int:
        """Registers the node and returns its epoch once that is durable.

        Waits out the lease of an earlier process that did not leave; raises `NodeIdInUse` when the
        other one keeps it alive.
        """
        self._registration = registration
        await self._register(registration)
        self._keeper = asyncio.get_running_loop().create_task(self._keep_alive(), name="membership")
        return self._epoch

    async def leave(self) -> None:
        tasks = [task for task in (self._keeper, *self._claims) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._keeper = None
        lease_id, self._lease_id, self._epoch, self._fence = self._lease_id, 0, 0, 0
        if lease_id:
            await self._store.revoke(lease_id)

    def on_image(self, image: ClusterImage, delta: MetadataDelta) -> None:
        """Subscribe this to the follower: a vacant controller's place is claimed."""
        if not delta.controller_changed:
            return
        self._controller_id = image.controller_id
        is_own = self._registration is not None and image.controller_id == self._registration.node_id
        if not is_own and image.revision >= self._fence:  # an older image knows nothing of this claim yet
            self._fence = 0
        if image.controller_id == NO_CONTROLLER and self._should_claim:
            task = asyncio.get_running_loop().create_task(self._claim_again())
            self._claims.add(task)
            task.add_done_callback(self._claims.discard)

    @property
    def _should_claim(self) -> bool:
        """Whether this node is a member without a claim, and no other node's claim is known to stand."""
        if self._registration is None or not self._lease_id or self._fence:
            return False
        return self._controller_id in (NO_CONTROLLER, self._registration.node_id)

    async def _register(self, registration: Registration) -> None:
        waited_ms = 0
        while True:
            lease_id = await self._store.grant_lease(self._session_timeout_ms)
            epoch = await self._put_registration(registration, lease_id)
            if epoch:
                break
            await self._store.revoke(lease_id)
            if waited_ms > self._session_timeout_ms:
                raise NodeIdInUse(registration.node_id)
            await self._pause(self._keep_alive_interval_ms)
            waited_ms += self._keep_alive_interval_ms
        self._lease_id, self._epoch = lease_id, epoch
        await self._claim(registration.node_id, lease_id)

    async def _put_registration(self, registration: Registration, lease_id: int) -> int:
        """The epoch, or 0 while the registration of somebody else stands."""
        key = keys.broker_key(registration.node_id)
        entry = broker_entry(
            registration.host,
            registration.port,
            registration.rack,
            self._incarnation,
            registration.endpoints,
        )
        put = Put(key, encode_entry(entry), lease_id)
        result = await self._store.transact([Compare(key, exists=False)], [put], [Get(key)])
        if result.succeeded:
            return result.revision
        (present,) = result.found
        if present is None or decode_entry(BrokerEntry, key, present.value).incarnation != self._incarnation:
            return 0
        replaced = await self._store.transact([Compare(key, mod_revision=present.mod_revision)], [put])
        return replaced.revision if replaced.succeeded else 0

    async def _claim(self, node_id: int, lease_id: int) -> None:
        """Takes the controller's place if nobody has it, or this node under a lease that it lost."""
        key = keys.CONTROLLER
        put = Put(key, encode_entry(ControllerEntry(node_id=node_id)), lease_id)
        async with self._one_claim:
            if self._fence:
                return
            result = await self._store.transact([Compare(key, exists=False)], [put], [Get(key)])
            if not result.succeeded:
                (standing,) = result.found
                if standing is None or decode_entry(ControllerEntry, key, standing.value).node_id != node_id:
                    return
                result = await self._store.transact([Compare(key, mod_revision=standing.mod_revision)], [put])
            if result.succeeded:
                self._fence = result.revision

    async def _claim_again(self) -> None:
        if self._registration is None or not self._lease_id:
            return
        try:
            await self._claim(self._registration.node_id, self._lease_id)
        except LeaseNotFound:
            return  # the keeper registers again, and claims then
        except Exception:
            _log.exception("the claim to be controller failed")

    async def _keep_alive(self) -> None:
        while True:
            await self._pause(self._keep_alive_interval_ms)
            try:
                await self._store.keep_alive(self._lease_id)
            except LeaseNotFound:
                await self._join_again()
            except Exception:
                _log.exception("the lease of this node was not renewed, trying again")
            if self._should_claim:
                await self._claim_again()  # an earlier claim failed

    async def _join_again(self) -> None:
        assert self._registration is not None
        self._epoch = self._fence = 0
        _log.warning("this node was silent for too long and lost its place in the cluster: joining again")
        try:
            await self._register(self._registration)
        except Exception:
            _log.exception("this node could not join again, trying again")

    async def _pause(self, delay_ms: float) -> None:
        passed = asyncio.Event()
        timer = self._clock.call_later(delay_ms, passed.set)
        try:
            await passed.wait()
        finally:
            timer.cancel()
