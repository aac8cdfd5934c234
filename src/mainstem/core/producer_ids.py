"""Producer ids for idempotent producers, taken from the cluster a block at a time."""

from __future__ import annotations

import asyncio

from mainstem.core.ports import TopicAdmin

BLOCK_SIZE = 1000


class ProducerIds:
    """Hands out ids that no other producer of the cluster has or will have.

    What is left of a block at a stop is never used: ids are not scarce.
    """

    def __init__(self, admin: TopicAdmin) -> None:
        self._admin = admin
        self._block = iter(range(0))
        self._refill = asyncio.Lock()

    async def allocate(self) -> int:
        for producer_id in self._block:
            return producer_id
        async with self._refill:
            for producer_id in self._block:  # another caller refilled meanwhile
                return producer_id
            self._block = iter(await self._admin.allocate_producer_ids(BLOCK_SIZE))
            return next(self._block)
