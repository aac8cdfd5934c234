"""Puts a cleaned segment in the place of those it was made from, whatever happens meanwhile.

    1  the cleaned segment is whole:          X.log.cleaned X.index.cleaned ...          on stable storage
    2  it is told apart from half-made ones:  X.log.swap X.index.swap ...                on stable storage
    3  the plan, `mainstem-swap`, names what it replaces                                 on stable storage
    4  X.log becomes X.log.deleted and X.log.swap becomes X.log, the indexes likewise;
       readers are led to the new segment in the same moment (on the loop)
    5  the other replaced segments and their snapshots get their .deleted names          on stable storage
    6  the plan is removed                                                               on stable storage

A crash before 3 leaves the old segments as they were. From 3 on the swap happens: a start that finds the
plan finishes it, however many of the renames of 4 and 5 survived and in whatever order. A file under a
`.swap` name was not yet renamed; one that has none was, because all of them were there before the plan was.

Kafka has no plan. A start that finds a `.log.swap` without one (a Kafka broker's, or ours that stopped
between 2 and 3) finishes as Kafka does: what lies inside the offsets of that segment goes.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Final, NamedTuple

from mainstem.log.batch_reader import read_batches
from mainstem.log.compaction.segment_writer import CleanedSegment, discard
from mainstem.log.errors import LogCorrupt, LogDirectoryFailed
from mainstem.log.names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SEGMENT_SUFFIXES,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    file_name,
    offset_of,
)
from mainstem.ports.disk import Disk

PLAN: Final = "mainstem-swap"
_VERSION: Final = 0

_logger = logging.getLogger(__name__)


class SwapPlan(NamedTuple):
    base_offset: int
    suffixes: tuple[str, ...]  # of the files that the new segment has
    replaced: tuple[int, ...]  # base offsets of the old ones, the new one's own included


def prepare_swap(disk: Disk, directory: str, cleaned: CleanedSegment, replaced: Sequence[int]) -> SwapPlan:
    """Steps 2 and 3. Blocks."""
    plan = SwapPlan(cleaned.base_offset, cleaned.suffixes, tuple(replaced))
    stem = f"{directory}/{file_name(cleaned.base_offset, '')}"
    for suffix in reversed(cleaned.suffixes):  # the .log last: Kafka goes by it
        disk.rename(f"{stem}{suffix}{CLEANED_SUFFIX}", f"{stem}{suffix}{SWAP_SUFFIX}")
    disk.sync_directory(directory)
    content = json.dumps({"version": _VERSION, **plan._asdict()})
    disk.replace_file(f"{directory}/{PLAN}", content.encode())
    return plan


def cancel_swap(disk: Disk, directory: str, cleaned: CleanedSegment) -> None:
    """After `prepare_swap` failed: nothing of it may be found by a later start. Blocks.

    What it would find is older than what the log holds by then.
    """
    try:
        disk.remove(f"{directory}/{PLAN}")
        disk.sync_directory(directory)
        for suffix in cleaned.suffixes:
            disk.remove(f"{directory}/{file_name(cleaned.base_offset, suffix)}{SWAP_SUFFIX}")
        discard(disk, directory, cleaned)
        disk.sync_directory(directory)
    except OSError as error:
        raise LogDirectoryFailed(
            f"the swap of a segment of {directory} cannot be taken back: {error}"
        ) from error


def put_in_place(disk: Disk, directory: str, plan: SwapPlan) -> list[str]:
    """Step 4; the paths of the files that were replaced."""
    stem = f"{directory}/{file_name(plan.base_offset, '')}"
    deleted: list[str] = []
    for suffix in SEGMENT_SUFFIXES:
        path = stem + suffix
        if disk.exists(path):
            disk.rename(path, path + DELETED_SUFFIX)
            deleted.append(path + DELETED_SUFFIX)
        if suffix in plan.suffixes:
            disk.rename(path + SWAP_SUFFIX, path)
    return deleted


def finish_swap(disk: Disk, directory: str, plan: SwapPlan) -> list[str]:
    """Steps 5 and 6; the paths of the files that were replaced. Blocks."""
    deleted: list[str] = []
    for base_offset in plan.replaced:
        if base_offset == plan.base_offset:
            continue
        for suffix in (*SEGMENT_SUFFIXES, SNAPSHOT_SUFFIX):
            path = f"{directory}/{file_name(base_offset, suffix)}"
            if disk.exists(path):
                disk.rename(path, path + DELETED_SUFFIX)
                deleted.append(path + DELETED_SUFFIX)
    disk.sync_directory(directory)
    disk.remove(f"{directory}/{PLAN}")
    disk.sync_directory(directory)
    return deleted


# --- after an unclean stop


def recover_swaps(disk: Disk, directory: str) -> None:
    """Finishes the swap that was under way, and clears away what compaction left half made."""
    names = disk.list(directory)
    for name in names:
        if name.endswith(CLEANED_SUFFIX):
            disk.remove(f"{directory}/{name}")
    if PLAN in names:
        _finish_planned(disk, directory, _read_plan(disk, directory))
    elif any(name.endswith(SWAP_SUFFIX) for name in names):
        _finish_unplanned(disk, directory, names)


def _read_plan(disk: Disk, directory: str) -> SwapPlan:
    path = f"{directory}/{PLAN}"
    try:
        content = json.loads(disk.read_file(path))
        if content["version"] != _VERSION:
            raise LogCorrupt(f"{path}: version {content['version']}, known is {_VERSION}")
        return SwapPlan(int(content["base_offset"]), tuple(content["suffixes"]), tuple(content["replaced"]))
    except (ValueError, KeyError, TypeError) as error:
        raise LogCorrupt(f"{path} cannot be read: {error}") from error


def _finish_planned(disk: Disk, directory: str, plan: SwapPlan) -> None:
    stem = f"{directory}/{file_name(plan.base_offset, '')}"
    for suffix in SEGMENT_SUFFIXES:
        path = stem + suffix
        if disk.exists(path + SWAP_SUFFIX):
            disk.rename(path + SWAP_SUFFIX, path)
        elif suffix not in plan.suffixes:
            disk.remove(path)
    finish_swap(disk, directory, plan)
    _logger.info("%s: finished putting the compacted segment %d in place", directory, plan.base_offset)


def _finish_unplanned(disk: Disk, directory: str, names: Sequence[str]) -> None:
    for name in sorted(names):
        base_offset = offset_of(name, LOG_SUFFIX + SWAP_SUFFIX)
        if base_offset is not None:
            _finish_one(disk, directory, base_offset)
    for name in disk.list(directory):
        if not name.endswith(SWAP_SUFFIX):
            continue
        own = name.removesuffix(SWAP_SUFFIX)
        # Its segment was in place already. An index beside it is perhaps the old one: it is made anew.
        if own.endswith((OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX)):
            disk.remove(f"{directory}/{own}")
            disk.remove(f"{directory}/{name}")
        else:
            disk.rename(f"{directory}/{name}", f"{directory}/{own}")
    disk.sync_directory(directory)


def _finish_one(disk: Disk, directory: str, base_offset: int) -> None:
    path = f"{directory}/{file_name(base_offset, LOG_SUFFIX)}"
    try:
        end_offset = _end_of(disk, path + SWAP_SUFFIX, base_offset)
    except LogCorrupt as error:
        if not disk.exists(path):
            raise
        _logger.warning("%s%s is not whole, the segment stays as it was: %s", path, SWAP_SUFFIX, error)
        for suffix in SEGMENT_SUFFIXES:
            disk.remove(f"{directory}/{file_name(base_offset, suffix)}{SWAP_SUFFIX}")
        return
    for name in disk.list(directory):
        offset = offset_of(name, LOG_SUFFIX)
        if offset is not None and base_offset <= offset < end_offset:
            for suffix in SEGMENT_SUFFIXES:
                disk.remove(f"{directory}/{file_name(offset, suffix)}")
    disk.sync_directory(directory)
    for suffix in SEGMENT_SUFFIXES[::-1]:
        own = f"{directory}/{file_name(base_offset, suffix)}"
        if disk.exists(own + SWAP_SUFFIX):
            disk.rename(own + SWAP_SUFFIX, own)
    disk.sync_directory(directory)
    _logger.info("%s: put the compacted segment %d in place", directory, base_offset)


def _end_of(disk: Disk, path: str, base_offset: int) -> int:
    end_offset = base_offset
    for _, header, _ in read_batches(disk.open(path), 0, disk.size(path)):
        end_offset = header.next_offset
    return end_offset
