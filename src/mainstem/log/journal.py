"""The journal of a log directory: one flush makes the appends of any number of partitions durable.

A round is written to the active piece and is on stable storage when `append` returns. The same
bytes went to the page cache of the partition files before; those are flushed later, in bulk, and
only then is a piece used again. The files stay the truth: the journal is read in recovery alone.

A piece is *active* (one at most), *sealed* (full; waits until the partition files hold what it
holds) or *free*. Pieces are sealed and freed in the order of their rounds.

Invariants, each of which some power loss needs:

1. A piece is freed only after every partition file whose appends it holds was flushed at least up
   to those appends, the name of a new segment file included. `PartitionLog.flush` promises both.
2. Every round carries the low sequence, the first round that was not freed when it was written.
   Recovery replays from the last valid round's low sequence on; what lies below was in the files.
3. Each use of a piece has a generation of its own, so what an earlier use left behind is never
   read as new, and reading stops at a torn round.
4. A recovery-point checkpoint never names an offset above what was flushed, so it is written from
   `recovery_point` after a flush and may be old. It does not gate invariant 1: recovery looks at
   the file from the old point on, and what was flushed is there.
5. After a recovery the order is: replay, flush the partition logs, `restart` the journal (a durable
   round whose low sequence is its own), serve. A crash in between replays again, which changes
   nothing: appends below a log's end are skipped.
6. A log that is cut back says so with a truncate entry before it appends again; otherwise a replay
   would bring the cut part back. A topic id that no log has, is skipped: the topic was deleted.
7. What a commit depends on is either in the journal or was flushed: if a log took appends that were
   never journaled (its topic did not ask for it then), its file is flushed in place of a journal
   entry (see durability.py). Hence replay never meets a gap that was not caused by damage.
8. When a flush fails, nothing is known about what reached the disk, and asking again would claim
   success. The journal then refuses everything for good and its directory goes offline.

The files lie in the log directory itself, not in a folder, because a folder there would be taken
for a partition by other readers of the same format. A piece is filled with zeros when it is made:
blocks that were only reserved would cost the file system a metadata commit on every first write.
"""

from __future__ import annotations

import errno
import logging
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from mainstem.log.errors import LogDirectoryFailed
from mainstem.log.journal_format import (
    ALIGNMENT,
    TRUNCATE,
    JournalEntry,
    Round,
    build_round,
    read_rounds,
    round_bytes,
)
from mainstem.model.errors import DiskError
from mainstem.model.ids import TopicId, TopicPartition
from mainstem.ports.disk import Disk, File

PIECE_PREFIX: Final = "mainstem-journal-"
_FILL_CHUNK_BYTES: Final = 1024 * 1024
_FULL_DISK: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


_logger = logging.getLogger(__name__)


def is_full_disk(error: OSError) -> bool:
    return error.errno in _FULL_DISK


class JournaledLog(Protocol):
    """What the journal needs of a partition log."""

    @property
    def topic_partition(self) -> TopicPartition: ...
    @property
    def topic_id(self) -> TopicId: ...
    @property
    def recovery_point(self) -> int: ...
    @property
    def is_closed(self) -> bool: ...
    def flush(self) -> int: ...


class JournalPosition(NamedTuple):
    """Where the next use of a journal goes on: above every number it ever used."""

    generation: int
    sequence: int


class Piece:
    __slots__ = ("capacity", "file", "first_sequence", "generation", "holds", "last", "path", "position")

    def __init__(self, path: str, file: File, capacity: int) -> None:
        self.path = path
        self.file = file
        self.capacity = capacity
        self.generation = 0
        self.position = 0  # where the next round goes; always a multiple of ALIGNMENT
        self.first_sequence = 0
        self.last: Round | None = None  # set by a scan
        self.holds: dict[JournaledLog, int] = {}  # log -> end of its last append in this piece


class Cut(NamedTuple):
    """A truncate entry: appends of earlier rounds count only below `offset`."""

    sequence: int
    offset: int


class JournalScan(NamedTuple):
    pieces: list[Piece]  # those that hold needed rounds, in order
    low_sequence: int
    cuts: dict[tuple[TopicId, int], list[Cut]]
    size_bytes: int


class NoRoom(Exception):
    """No piece is free and none can be made: the caller flushes its files directly."""


class Journal:
    """`append` belongs to one thread and `release_oldest` may run in another beside it."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        *,
        piece_bytes: int = 32 * 1024 * 1024,
        max_pieces: int = 16,
    ) -> None:
        if piece_bytes % ALIGNMENT or piece_bytes < 4 * ALIGNMENT or max_pieces < 2:
            raise ValueError("a journal has two pieces at least, of a multiple of 4,096 bytes each")
        self._disk = disk
        self._directory = directory
        self._piece_bytes = piece_bytes
        self._max_pieces = max_pieces
        self._lock = threading.Lock()  # guards the fields down to `_low_sequence`
        self._active: Piece | None = None
        self._sealed: deque[Piece] = deque()
        self._free: deque[Piece] = deque()
        self._low_sequence = 1
        self._releasing = threading.Lock()  # one at a time frees pieces
        self._preparing = threading.Lock()  # one at a time makes pieces
        self._next = JournalPosition(1, 1)
        self._failure: BaseException | None = None
        self._open_pieces()

    # -- reading -------------------------------------------------------------------------------

    def scan(self) -> JournalScan:
        """Reads everything once, to learn what recovery needs and where new numbers start."""
        used: list[tuple[int, Piece]] = []
        cuts: dict[tuple[TopicId, int], list[Cut]] = {}
        for piece in self._free:
            last: Round | None = None
            for last in read_rounds(piece.file):
                if not piece.generation:
                    piece.generation, piece.first_sequence = last.generation, last.sequence
                for entry in last.entries:
                    if entry.kind == TRUNCATE:
                        cut = Cut(last.sequence, entry.base_offset)
                        cuts.setdefault((entry.topic_id, entry.partition), []).append(cut)
            if last is not None:
                piece.last = last._replace(entries=[])
                used.append((piece.generation, piece))
        used.sort(key=lambda item: item[0])
        pieces = [piece for _, piece in used]
        if pieces and (newest := pieces[-1].last):
            self._next = JournalPosition(newest.generation + 1, newest.sequence + 1)
            self._low_sequence = newest.low_sequence
        needed = [piece for piece in pieces if piece.last and piece.last.sequence >= self._low_sequence]
        return JournalScan(needed, self._low_sequence, cuts, sum(piece.file.size() for piece in needed))

    def rounds(self, scan: JournalScan) -> Iterator[Round]:
        """The rounds that recovery needs, in order, one in memory at a time."""
        expected = scan.low_sequence
        for piece in scan.pieces:
            for found in read_rounds(piece.file):
                if found.sequence < scan.low_sequence:
                    continue
                if found.sequence != expected:
                    _logger.error(
                        "the journal in %s is damaged: rounds %d to %d cannot be read",
                        self._directory,
                        expected,
                        found.sequence - 1,
                    )
                expected = found.sequence + 1
                yield found

    @property
    def position(self) -> JournalPosition:
        return self._next

    def resume(self, position: JournalPosition) -> None:
        """Goes on after a clean stop, where nothing is to be replayed."""
        self._next = position
        self._low_sequence = position.sequence

    def restart(self) -> None:
        """Makes everything written before void, durably. Every log must have been flushed."""
        with self._lock:
            self._low_sequence = self._next.sequence
        if self._free:
            self.append([], [])

    # -- writing -------------------------------------------------------------------------------

    @property
    def piece_count(self) -> int:
        return self._piece_count()

    @property
    def max_round_bytes(self) -> int:
        return self._piece_bytes

    @property
    def is_filling(self) -> bool:
        """More than half of the room waits to be released: time to flush partition files."""
        return 2 * len(self._sealed) >= self._max_pieces

    @property
    def has_flushed_oldest(self) -> bool:
        """The oldest sealed piece can be freed without a flush."""
        with self._lock:
            return bool(self._sealed) and all(
                log.recovery_point >= end for log, end in self._sealed[0].holds.items()
            )

    @property
    def needs_piece(self) -> bool:
        """The next seal would find nothing free, and there may be one more."""
        active = self._active
        return (
            not self._free
            and self._piece_count() < self._max_pieces
            and active is not None
            and 2 * active.position > active.capacity
        )

    def append(self, entries: Sequence[JournalEntry], logs: Sequence[JournaledLog]) -> None:
        """Writes one round; on return it is on stable storage. `logs` go with `entries`.

        Raises `NoRoom` with nothing written, or `LogDirectoryFailed`.
        """
        self._check()
        size = round_bytes(len(entries), sum(entry.size_bytes for entry in entries))
        if size > self._piece_bytes:
            raise NoRoom
        piece = self._piece_with_room(size)
        with self._lock:
            low_sequence = self._low_sequence
            for entry, log in zip(entries, logs, strict=True):
                piece.holds[log] = entry.next_offset
        sequence = self._next.sequence
        try:
            piece.file.write_through(
                build_round(piece.generation, sequence, low_sequence, entries), piece.position
            )
        except OSError as error:
            if is_full_disk(error):  # a file system that never writes in place: not our directory's end
                raise NoRoom from error
            self._fail(error)
        piece.position += size
        self._next = JournalPosition(self._next.generation, sequence + 1)

    def _piece_with_room(self, size: int) -> Piece:
        piece = self._active
        if piece is not None:
            if piece.position + size <= piece.capacity:
                return piece
            with self._lock:
                self._sealed.append(piece)
                self._active = None
        if not self._free and not self.prepare_piece() and not self.release_oldest(unless_free=True):
            raise NoRoom
        with self._lock:
            piece = self._free.popleft()
            piece.generation = self._next.generation
            piece.first_sequence = self._next.sequence
            piece.position = 0
            piece.holds = {}
            self._active = piece
        self._next = JournalPosition(piece.generation + 1, self._next.sequence)
        return piece

    def prepare_piece(self) -> bool:
        """Makes one more piece when there may be one. False: there may not, or the disk is full."""
        with self._preparing:
            count = self._piece_count()
            if self._free or count >= self._max_pieces:
                return bool(self._free)
            try:
                if count and self._disk.free_bytes(self._directory) < 4 * self._piece_bytes:
                    return False
                piece = self._make_piece()
            except OSError as error:
                if is_full_disk(error):
                    return False
                self._fail(error)
            with self._lock:
                self._free.append(piece)
        return True

    def _make_piece(self) -> Piece:
        number = 0
        while self._disk.exists(path := f"{self._directory}/{PIECE_PREFIX}{number:03d}"):
            number += 1
        file = self._disk.open(path, create=True)
        try:
            zeros = bytes(_FILL_CHUNK_BYTES)
            for position in range(0, self._piece_bytes, _FILL_CHUNK_BYTES):
                file.write([zeros[: self._piece_bytes - position]], position)
            file.sync()
            self._disk.sync_directory(self._directory)
        except OSError:
            file.close()
            self._disk.remove(path)
            raise
        return Piece(path, file, self._piece_bytes)

    def _open_pieces(self) -> None:
        found = False
        for name in sorted(self._disk.list(self._directory)):
            if not name.startswith(PIECE_PREFIX):
                continue
            found = True
            path = f"{self._directory}/{name}"
            file = self._disk.open(path)
            # A piece from another configuration keeps its size; one that was never finished has no
            # rounds and is as good as any: writing past its end only costs more.
            self._free.append(Piece(path, file, max(file.size(), self._piece_bytes)))
        if found:  # one may have been made just before a crash, its name not yet on stable storage
            self._disk.sync_directory(self._directory)

    def _piece_count(self) -> int:
        return len(self._free) + len(self._sealed) + (self._active is not None)

    # -- releasing -----------------------------------------------------------------------------

    def release_oldest(self, *, unless_free: bool = False) -> bool:
        """Flushes what the oldest sealed piece holds and frees it. False: none is sealed."""
        with self._releasing:
            if unless_free and self._free:
                return True
            if not self._sealed:
                return False
            piece = self._sealed[0]
            self._flush_held(piece)
            with self._lock:
                self._sealed.popleft()
                following = self._sealed[0] if self._sealed else self._active
                self._low_sequence = following.first_sequence if following else self._next.sequence
                self._free.append(piece)
        return True

    def _flush_held(self, piece: Piece) -> None:
        self._check()
        while True:
            with self._lock:
                if not piece.holds:
                    return
                log, end_offset = piece.holds.popitem()
            if log.recovery_point >= end_offset:
                continue
            try:
                log.flush()
            except (OSError, DiskError) as error:
                if not log.is_closed:  # a topic deleted under our hands is no failure
                    self._fail(error)

    def forget(self, log: JournaledLog) -> None:
        """The log was deleted: nobody waits for its files any more."""
        with self._lock:
            for piece in (*self._sealed, *self._free, *([self._active] if self._active else [])):
                piece.holds.pop(log, None)

    # -- failing and closing -------------------------------------------------------------------

    @property
    def is_failed(self) -> bool:
        return self._failure is not None

    def _check(self) -> None:
        if self._failure is not None:
            raise LogDirectoryFailed(f"{self._directory} is offline: {self._failure}")

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
        raise LogDirectoryFailed(f"{self._directory}: {error}") from error

    def close(self) -> None:
        for piece in (*self._sealed, *self._free, *([self._active] if self._active else [])):
            piece.file.close()
