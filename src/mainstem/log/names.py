"""How the files of a partition are named: the base offset in 20 digits, then what the file is."""

from __future__ import annotations

from typing import Final

LOG_SUFFIX: Final = ".log"
OFFSET_INDEX_SUFFIX: Final = ".index"
TIME_INDEX_SUFFIX: Final = ".timeindex"
TRANSACTION_INDEX_SUFFIX: Final = ".txnindex"
SNAPSHOT_SUFFIX: Final = ".snapshot"
DELETED_SUFFIX: Final = ".deleted"  # renamed, waits for file.delete.delay.ms
CLEANED_SUFFIX: Final = ".cleaned"  # half-written output of compaction
SWAP_SUFFIX: Final = ".swap"  # compacted, about to take its place: see compaction/segment_swap.py
TEMPORARY_SUFFIX: Final = ".tmp"

SEGMENT_SUFFIXES: Final = (LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)

_DIGITS: Final = 20


def file_name(offset: int, suffix: str) -> str:
    return f"{offset:020d}{suffix}"


def offset_of(name: str, suffix: str) -> int | None:
    """The offset in a file name of this kind; None when the name is of another kind."""
    digits = name[: -len(suffix)]
    if name.endswith(suffix) and len(digits) == _DIGITS and digits.isascii() and digits.isdigit():
        return int(digits)
    return None
