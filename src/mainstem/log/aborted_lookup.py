"""Which aborted transactions a reader of some bytes has to leave out.

The transaction index of a segment knows those that were aborted in it. A transaction may have begun long
before, so a reader needs the entries of its own segment and of later ones, until one says that no later
transaction reaches back so far.

The bytes end at a position, entries speak of offsets: the offset index tells one that lies behind the
position, about one index interval too far at most. What is named without need does no harm.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter

from mainstem.log.log_slice import LogSlice
from mainstem.log.segment import Segment
from mainstem.log.transaction_index import AbortedTransaction

_BASE_OFFSET = attrgetter("base_offset")


def find_aborted(
    segments: Sequence[Segment],
    aborting: Sequence[Segment],
    offset: int,
    read: LogSlice,
    limit_offset: int,
) -> list[AbortedTransaction]:
    """`aborting` are the segments whose index has entries."""
    number = max(0, bisect_left(segments, offset + 1, key=_BASE_OFFSET) - 1)
    while number < len(segments) - 1 and segments[number].log_file() is not read.file:
        number += 1  # compaction may have emptied some
    segment = segments[number]
    first = bisect_left(aborting, segment.base_offset, key=_BASE_OFFSET)
    if first == len(aborting):
        return []
    limit = min(limit_offset, _offset_behind(segments, number, read.position + read.length))
    found: list[AbortedTransaction] = []
    for each in aborting[first:]:
        more, is_complete = each.transaction_index.overlapping(offset, limit)
        found += more
        if is_complete:
            break
    return found


def _offset_behind(segments: Sequence[Segment], number: int, end_position: int) -> int:
    """An offset above all that lies before the position."""
    segment = segments[number]
    relative = segment.offset_index.offset_at_or_after(end_position)
    if relative is not None:
        return segment.base_offset + relative + 1
    if number + 1 < len(segments):
        return segments[number + 1].base_offset
    return 2**63 - 1
