"""All figures on one page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Final

from mainstem.admin.metrics import (
    access,
    groups,
    identity,
    partitions,
    process,
    quotas,
    requests,
    storage,
    transactions,
)
from mainstem.admin.metrics.exposition import Family, write
from mainstem.admin.node import Node

_ROOMS: Final[tuple[Callable[[Node], Iterable[Family]], ...]] = (
    process.families,
    requests.families,
    quotas.families,
    identity.families,
    access.families,
    storage.families,
    groups.families,
    transactions.families,
    partitions.families,
)


def all_families(node: Node) -> Iterator[Family]:
    for families in _ROOMS:
        yield from families(node)


def metrics_page(node: Node) -> AsyncIterator[bytes]:
    return write(all_families(node))
