"""What compaction keeps of one batch, and what it needs of a map of offsets to decide so."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol


class Selection(NamedTuple):
    record_count: int
    records: bytes  # as they stood in the batch; the very bytes that came where all are kept
    has_tombstone: bool  # among those kept
    newest_delta: int  # the greatest timestamp delta of those kept; without meaning when there are none
    keyless: int  # records without a key, which cannot be compacted and are dropped


class NewestOffsets(Protocol):
    """The newest offset of each key, in a stated amount of memory. See offset_map.py."""

    latest_offset: int  # every record up to here was taken note of

    @property
    def capacity(self) -> int:
        """So many keys fit."""
        ...

    def __len__(self) -> int: ...

    def make_room(self, count: int) -> bool:
        """Whether so many keys more can be put."""
        ...

    def put(self, key: bytes, offset: int) -> None:
        """The caller asked `make_room`. Offsets of one key come rising."""
        ...

    def get(self, key: bytes) -> int:
        """The newest offset of the key, -1 when it has none."""
        ...

    def index_batch(
        self, plain: bytes, record_count: int, base_offset: int, breathe: Callable[[int], None]
    ) -> None:
        """Puts the keys of a batch's decompressed records. `MalformedRecords` where they are damaged."""
        ...

    def select_batch(
        self,
        plain: bytes,
        record_count: int,
        base_offset: int,
        drops_tombstones: bool,
        breathe: Callable[[int], None],
    ) -> Selection:
        """What is the newest of its key; all the records lie at or below the latest offset."""
        ...
