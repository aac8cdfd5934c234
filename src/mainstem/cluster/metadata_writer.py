"""How the controller writes: fenced, in transactions that every store takes, visible on return.

A request may change thousands of topics. Its changes are cut into transactions below the store's
limits; each is atomic and compares the controller's fence, so that a node which lost its claim
changes nothing. Items of one transaction share its fate.
A transaction that was begun is waited for, also by a caller that is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Hashable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from mainstem.cluster import keys
from mainstem.cluster.errors import EntryUnreadable
from mainstem.cluster.follower import MetadataFollower
from mainstem.cluster.membership import Membership
from mainstem.cluster.store import Compare, Delete, Get, MetadataStore, Operation, Put, operation_bytes
from mainstem.core.errors import MetadataNotAvailable, NotController
from mainstem.model.errors import BrokerError, DiskError, MainstemError

MAX_CHANGES_PER_TRANSACTION = 100
MAX_CHANGE_BYTES_PER_TRANSACTION = 1_000_000

K = TypeVar("K", bound=Hashable)


class Change(NamedTuple):
    operation: Put | Delete
    compare: Compare | None = None


class MetadataWriter:
    def __init__(self, store: MetadataStore, follower: MetadataFollower, membership: Membership) -> None:
        self._store = store
        self._follower = follower
        self._membership = membership

    def check_control(self) -> None:
        if not self._membership.fence:
            raise NotController(
                f"node {self._follower.image.controller_id} makes the changes of metadata, not this one"
            )

    async def write(self, changes: Mapping[K, Change]) -> dict[K, MainstemError]:
        """Returns the items that failed. All others are durable, and in this node's image."""
        failed: dict[K, MainstemError] = {}
        for part in parts_of(changes):
            try:
                await _to_its_end(self._write_part(part))
            except MainstemError as error:
                failed.update(dict.fromkeys(part, error))
        return failed

    async def _write_part(self, part: Mapping[K, Change]) -> None:
        self.check_control()
        fence = Compare(keys.CONTROLLER, mod_revision=self._membership.fence)
        compares = [fence, *(change.compare for change in part.values() if change.compare is not None)]
        operations: list[Operation] = [change.operation for change in part.values()]
        try:
            result = await self._store.transact(compares, operations, [Get(keys.CONTROLLER)])
            if result.succeeded:
                await self._follower.wait_for(result.revision)
                return
        except EntryUnreadable:
            raise
        except (BrokerError, DiskError) as error:
            raise MetadataNotAvailable(f"the metadata store did not take the change: {error}") from error
        (claim,) = result.found
        if claim is None or claim.mod_revision != fence.mod_revision:
            raise NotController("this node is no longer the controller")
        raise MetadataNotAvailable("the metadata changed at the same moment: try again")


async def _to_its_end(writing: Coroutine[Any, Any, None]) -> None:
    """A caller that is cancelled waits for the end too: it keeps the next request from being decided
    on an image in which this change is missing."""
    task = asyncio.get_running_loop().create_task(writing)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # nobody is left to be told
        raise


def parts_of(changes: Mapping[K, Change]) -> Iterator[dict[K, Change]]:
    """As many changes at a time as every store takes."""
    part: dict[K, Change] = {}
    size = 0
    for item, change in changes.items():
        change_bytes = operation_bytes(change.operation)
        is_full = len(part) >= MAX_CHANGES_PER_TRANSACTION
        if part and (is_full or size + change_bytes > MAX_CHANGE_BYTES_PER_TRANSACTION):
            yield part
            part, size = {}, 0
        part[item] = change
        size += change_bytes
    if part:
        yield part
