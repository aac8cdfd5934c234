"""Keeps this node's image in step with the metadata store.

The follower reads everything once, then watches from the revision after. What one read of the watch
brings becomes one image and one delta:

    read -> each room applies it, one after the other, in the order of subscription
         -> the image is shown (`image`) -> who waits for that revision goes on (`wait_for`)

A room may take its time (new folders are made in a worker thread): the next change is not read
before all rooms are done with this one. So whatever an image shows has been applied by every room
of this node: a topic that a client can see can also be written.

When the watch fell behind the store's history, the follower reads everything again and makes the
difference one large delta: subscribers cannot tell.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Awaitable, Callable

from mainstem.cluster import keys
from mainstem.cluster.errors import MetadataWriteFailed, RevisionCompacted, StoreBusy, StoreClosed
from mainstem.cluster.image_builder import EMPTY_IMAGE, missing_as_deleted, next_image
from mainstem.cluster.store import Event, MetadataStore, Watch
from mainstem.core.image import ClusterImage, MetadataDelta

Subscriber = Callable[[ClusterImage, MetadataDelta], Awaitable[None] | None]

RETRY_DELAY_S = 0.2

_log = logging.getLogger(__name__)


class MetadataFollower:
    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self._image = EMPTY_IMAGE
        self._subscribers: list[Subscriber] = []
        self._waiters: list[tuple[int, int, asyncio.Future[None]]] = []  # heap by revision
        self._waiter_count = 0
        self._watch: Watch | None = None
        self._task: asyncio.Task[None] | None = None
        self._failure: Exception | None = None

    @property
    def image(self) -> ClusterImage:
        return self._image

    @property
    def failure(self) -> Exception | None:
        """Why the follower stopped, if it did: the image is old from then on."""
        return self._failure

    def subscribe(self, subscriber: Subscriber) -> None:
        """Later changes come as deltas; the image of now is the caller's to read."""
        self._subscribers.append(subscriber)

    async def start(self) -> ClusterImage:
        """Loads the image and follows from there. Subscribers are told of the load, as of a change."""
        await self._load()
        self._task = asyncio.get_running_loop().create_task(self._follow(), name="metadata-follower")
        return self._image

    async def wait_for(self, revision: int) -> None:
        """Returns once this node's image has everything up to `revision`."""
        if self._image.revision >= revision:
            return
        if self._failure is not None or self._task is None:
            raise StoreClosed("the metadata is no longer followed") from self._failure
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiter_count += 1
        heapq.heappush(self._waiters, (revision, self._waiter_count, future))
        await future

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        self._fail_waiters(StoreClosed("the metadata is no longer followed"))

    async def _load(self) -> None:
        read = await self._store.range(keys.ROOT)
        entries = (Event(entry.key, entry.value, entry.mod_revision) for entry in read.entries)
        await self._publish(missing_as_deleted(self._image, entries, read.revision), read.revision)
        if self._watch is not None:
            self._watch.close()
        self._watch = self._store.watch(keys.ROOT, read.revision + 1)

    async def _follow(self) -> None:
        is_behind = False
        try:
            while True:
                try:
                    if is_behind:
                        await self._load()
                        is_behind = False
                    await self._follow_watch()
                    return
                except RevisionCompacted as error:
                    _log.warning("%s: reading all metadata again", error)
                    is_behind = True
                except (MetadataWriteFailed, StoreBusy) as error:
                    _log.warning("metadata could not be read, trying again: %s", error)
                    await asyncio.sleep(RETRY_DELAY_S)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            _log.exception("this node no longer follows the metadata: restart it once the cause is gone")
            self._failure = error
        finally:
            self._fail_waiters(self._failure or StoreClosed("the metadata is no longer followed"))

    async def _follow_watch(self) -> None:
        assert self._watch is not None
        async for batch in self._watch:
            await self._publish(batch.events, batch.revision)

    async def _publish(self, events: list[Event] | tuple[Event, ...], revision: int) -> None:
        image, delta = next_image(self._image, events, revision)
        for subscriber in self._subscribers:
            try:
                applying = subscriber(image, delta)
                if applying is not None:
                    await applying
            except Exception:
                _log.exception("a room of this node failed to apply metadata revision %d", revision)
        self._image = image
        while self._waiters and self._waiters[0][0] <= revision:
            future = heapq.heappop(self._waiters)[2]
            if not future.done():
                future.set_result(None)

    def _fail_waiters(self, error: Exception) -> None:
        for _, _, future in self._waiters:
            if not future.done():
                future.set_exception(error)
        self._waiters.clear()
