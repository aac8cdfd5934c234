"""What a cleanly closed log hands over to the next start, so that it need not read its files.

The log directories save it with their clean-shutdown marker and it is good for one start only: after
an unclean stop nothing of it may be believed. Plain tuples of numbers, for any encoder.
"""

from __future__ import annotations

from typing import NamedTuple


class SegmentState(NamedTuple):
    base_offset: int
    size_bytes: int
    max_timestamp: int  # -1: no record has one
    offset_of_max_timestamp: int  # the last offset of the batch that has it
    roll_timestamp: int  # of the first batch; -1: none


class CleanState(NamedTuple):
    log_end_offset: int
    segments: tuple[SegmentState, ...]  # rising, at least one
    epochs: tuple[tuple[int, int], ...]  # (epoch, start offset), rising
    has_producers: bool  # False: there is no producer to load
