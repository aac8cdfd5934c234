"""Which leader wrote what: the leader epochs of a partition and where each begins.

A follower that comes back asks where an epoch ended, and cuts what the old leader wrote and nobody
else has. Epochs and their start offsets both rise, strictly.

They are kept in `leader-epoch-checkpoint`, a text file: a version (0), the number of entries, then a
line `epoch start-offset` for each. It is written when the log is flushed or closed and not before:
every change since then comes from batches beyond the recovery point, and recovery reads those.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from mainstem.log.errors import LogCorrupt
from mainstem.model.batch import NO_LEADER_EPOCH
from mainstem.ports.disk import Disk

FILE_NAME: Final = "leader-epoch-checkpoint"
NO_OFFSET: Final = -1


class EpochStart(NamedTuple):
    epoch: int
    start_offset: int


def _start_offset_of(entry: EpochStart) -> int:
    return entry.start_offset


class LeaderEpochs:
    __slots__ = ("_entries", "is_dirty", "latest_epoch")

    def __init__(self, entries: Sequence[EpochStart] = ()) -> None:
        # Rising in both fields. Replaced, never changed in place: other threads read it.
        self._entries: tuple[EpochStart, ...] = tuple(entries)
        self.latest_epoch = self._entries[-1].epoch if self._entries else NO_LEADER_EPOCH
        self.is_dirty = False  # differs from the file

    @property
    def entries(self) -> tuple[EpochStart, ...]:
        return self._entries

    def _set(self, entries: Sequence[EpochStart]) -> None:
        self._entries = tuple(entries)
        self.latest_epoch = self._entries[-1].epoch if self._entries else NO_LEADER_EPOCH
        self.is_dirty = True

    def assign(self, epoch: int, start_offset: int) -> None:
        """Batches from this offset on carry this epoch. What contradicts it is dropped."""
        if epoch < 0 or epoch == self.latest_epoch:
            return
        kept = [entry for entry in self._entries if entry.epoch < epoch and entry.start_offset < start_offset]
        self._set([*kept, EpochStart(epoch, start_offset)])

    def epoch_of(self, offset: int) -> int:
        """The epoch of the leader that wrote this offset, -1 when it is not known."""
        found = bisect_right(self._entries, offset, key=_start_offset_of)
        return self._entries[found - 1].epoch if found else NO_LEADER_EPOCH

    def end_offset_of(self, epoch: int, log_end_offset: int) -> EpochStart:
        """The greatest known epoch up to the one asked for, and the offset where it ended.

        Both are -1 when there is nothing to go by: no epoch asked for, or one newer than any here.
        """
        entries = self._entries
        if epoch < 0 or not entries or epoch > entries[-1].epoch:
            return EpochStart(NO_LEADER_EPOCH, NO_OFFSET)
        if epoch == entries[-1].epoch:
            return EpochStart(epoch, log_end_offset)
        number = bisect_right([entry.epoch for entry in entries], epoch)
        following = entries[number]
        if number == 0:  # older than all that is known
            return EpochStart(epoch, following.start_offset)
        return EpochStart(entries[number - 1].epoch, following.start_offset)

    def truncate_from_end(self, end_offset: int) -> None:
        """Drops the epochs that begin at or after the offset."""
        if self._entries and self._entries[-1].start_offset >= end_offset:
            self._set([entry for entry in self._entries if entry.start_offset < end_offset])

    def truncate_from_start(self, start_offset: int) -> None:
        """Drops the epochs that ended before the offset; the one that holds it begins there now."""
        entries = self._entries
        if not entries or entries[0].start_offset >= start_offset:
            return
        number = bisect_right(entries, start_offset, key=_start_offset_of)
        self._set([EpochStart(entries[number - 1].epoch, start_offset), *entries[number:]])

    def save(self, disk: Disk, directory: str, *, sync: bool) -> None:
        self.is_dirty = False  # first: a change meanwhile makes it dirty again
        entries = self._entries
        lines = ["0", str(len(entries)), *(f"{epoch} {offset}" for epoch, offset in entries), ""]
        disk.replace_file(f"{directory}/{FILE_NAME}", "\n".join(lines).encode("ascii"), sync=sync)

    @classmethod
    def load(cls, disk: Disk, directory: str) -> LeaderEpochs:
        path = f"{directory}/{FILE_NAME}"
        try:
            raw = disk.read_file(path)
        except FileNotFoundError:
            return cls()
        return cls(parse_checkpoint(path, raw))


def parse_checkpoint(path: str, raw: bytes) -> list[EpochStart]:
    try:
        lines = raw.decode("ascii").splitlines()
        version, count = int(lines[0]), int(lines[1])
        if version != 0:
            raise LogCorrupt(f"{path}: version {version}, known is 0")
        entries = [EpochStart(*map(int, line.split())) for line in lines[2:] if line]
    except (ValueError, IndexError, TypeError) as error:
        raise LogCorrupt(f"{path}: not readable: {error}") from error
    if len(entries) != count:
        raise LogCorrupt(f"{path}: {count} entries announced, {len(entries)} found")
    return entries
