"""Blocks of producer ids: by compare-and-swap, so that any node may take one and none is given twice."""

from __future__ import annotations

from mainstem.cluster import keys
from mainstem.cluster.entries import ProducerIdEntry, decode_entry, encode_entry
from mainstem.cluster.store import Compare, MetadataStore, Put
from mainstem.core.errors import MetadataNotAvailable
from mainstem.model.errors import BrokerError, DiskError

MAX_PRODUCER_ID = 2**63 - 1
MAX_ATTEMPTS = 20


class ProducerIdBlocks:
    def __init__(self, store: MetadataStore) -> None:
        self._store = store

    async def allocate(self, count: int) -> range:
        if count < 1:
            raise ValueError(f"a block of {count} producer ids")
        for _ in range(MAX_ATTEMPTS):
            try:
                block = await self._try(count)
            except (BrokerError, DiskError) as error:
                raise MetadataNotAvailable(f"no producer ids from the metadata store: {error}") from error
            if block is not None:
                return block
        raise MetadataNotAvailable("other nodes take producer ids at the same moment: try again")

    async def _try(self, count: int) -> range | None:
        entry = await self._store.get(keys.PRODUCER_IDS)
        first = 0
        if entry is not None:
            first = decode_entry(ProducerIdEntry, keys.PRODUCER_IDS, entry.value).next_producer_id
        if first + count - 1 > MAX_PRODUCER_ID:
            raise MetadataNotAvailable("all producer ids have been given out")
        result = await self._store.transact(
            [Compare(keys.PRODUCER_IDS, mod_revision=entry.mod_revision if entry else 0)],
            [Put(keys.PRODUCER_IDS, encode_entry(ProducerIdEntry(next_producer_id=first + count)))],
        )
        return range(first, first + count) if result.succeeded else None
