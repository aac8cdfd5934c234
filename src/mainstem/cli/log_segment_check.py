"""One segment checked: every batch of its `.log` file, and its indexes against them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from mainstem.cli.log_damage import Damage, damage_of
from mainstem.cli.log_files import FileKind, LogFile
from mainstem.cli.log_index_checks import IndexCheck, OffsetIndexCheck, TimeIndexCheck, TransactionIndexCheck
from mainstem.log.batch_reader import read_batches
from mainstem.log.errors import LogCorrupt
from mainstem.log.leader_epochs import LeaderEpochs
from mainstem.log.offset_index import MAX_RELATIVE_OFFSET
from mainstem.model.batch import CRC_START, HEADER_BYTES, MAGIC, BatchHeader
from mainstem.model.crc import crc32c
from mainstem.model.errors import MalformedRecords, UnknownCodec
from mainstem.model.records import decode_records
from mainstem.ports.disk import File, RealDisk

CHUNK_BYTES: Final = 1024 * 1024

OnBytes = Callable[[int], None]


@dataclass(slots=True)
class SegmentReport:
    """What a segment holds, as far as it is whole."""

    next_offset: int
    batch_count: int = 0
    record_count: int = 0
    size_bytes: int = 0
    reserved_bytes: int = 0  # zeros behind the last batch of the active segment
    damage: list[Damage] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return not any(damage.kind is FileKind.SEGMENT for damage in self.damage)


@dataclass(frozen=True, slots=True)
class SegmentContext:
    """What the check has to know of the partition around the segment."""

    first_offset: int  # no batch may begin below it
    is_last: bool
    epochs: LeaderEpochs
    epochs_path: str
    is_deep: bool  # decode the records too


class SegmentCheck:
    def __init__(self, segment: LogFile, indexes: Sequence[LogFile], context: SegmentContext) -> None:
        self._segment = segment
        self._indexes = indexes
        self._context = context
        self._report = SegmentReport(max(segment.base_offset, context.first_offset))
        self._last_epoch = -1
        self._epoch_damage: Damage | None = None

    def run(self, on_bytes: OnBytes) -> SegmentReport:
        disk = RealDisk()
        report = self._report
        try:
            file = disk.open(self._segment.path, writable=False)
            size = report.size_bytes = file.size()
        except OSError as error:
            self._damaged(0, f"it cannot be opened: {error.strerror}")
            return report
        if self._segment.base_offset < self._context.first_offset:
            told = f"the segment's name is below {self._context.first_offset}, where the one before it ends"
            report.damage.append(damage_of(self._segment.path, FileKind.SEGMENT, told))
        checks = list(self._index_checks(disk))
        end = 0
        for position, header, batch in self._whole_batches(file, size):
            for check in checks:
                check.see(position, header)
            report.batch_count += 1
            report.record_count += header.record_count
            report.next_offset = header.next_offset
            end = position + len(batch)
            on_bytes(len(batch))
        on_bytes(size - end)
        for check in checks:
            check.finish(end, is_log_whole=report.is_whole)
            if check.damage is not None:
                report.damage.append(check.damage)
        if self._epoch_damage is not None:
            report.damage.append(self._epoch_damage)
        return report

    def _index_checks(self, disk: RealDisk) -> Iterator[IndexCheck]:
        for index in self._indexes:
            try:
                file = disk.open(index.path, writable=False)
            except OSError as error:
                problem = f"it cannot be opened: {error.strerror}"
                self._report.damage.append(damage_of(index.path, index.kind, problem))
                continue
            if index.kind is FileKind.OFFSET_INDEX:
                yield OffsetIndexCheck(index.path, file, index.base_offset)
            elif index.kind is FileKind.TIME_INDEX:
                is_closed = not self._context.is_last
                yield TimeIndexCheck(index.path, file, index.base_offset, is_closed=is_closed)
            else:
                yield TransactionIndexCheck(index.path, file, index.base_offset)

    # --- batches

    def _whole_batches(self, file: File, size: int) -> Iterator[tuple[int, BatchHeader, memoryview]]:
        """Up to the first damage, which is reported."""
        end = 0
        try:
            for position, header, batch in read_batches(file, 0, size, chunk_bytes=CHUNK_BYTES):
                problem = self._problem_of(header, batch)
                if problem:
                    self._damaged(position, problem)
                    return
                yield position, header, batch
                end = position + len(batch)
        except LogCorrupt as error:
            if not self._is_reserved(file, end, size):
                self._damaged(end, str(error), is_torn_tail=self._context.is_last)
        except OSError as error:
            self._damaged(end, f"the disk does not give it back: {error.strerror}")

    def _problem_of(self, header: BatchHeader, batch: memoryview) -> str:
        """What is wrong with a batch, empty when nothing is."""
        if header.magic != MAGIC:
            return f"a batch of format {header.magic}, known is {MAGIC}"
        if crc32c(batch[CRC_START:]) != header.crc:
            return f"the checksum of the batch from offset {header.base_offset} is wrong"
        if header.base_offset < self._report.next_offset:
            return f"a batch begins at offset {header.base_offset}, before {self._report.next_offset}"
        if (
            header.last_offset_delta < 0
            or header.last_offset - self._segment.base_offset > MAX_RELATIVE_OFFSET
        ):
            return f"a batch from offset {header.base_offset} claims to end at {header.last_offset}"
        if not 0 <= header.record_count <= header.last_offset_delta + 1:
            return f"a batch of {header.last_offset_delta + 1} offsets claims {header.record_count} records"
        if header.leader_epoch < self._last_epoch:
            return f"a batch has leader epoch {header.leader_epoch}, one before it {self._last_epoch}"
        self._last_epoch = header.leader_epoch
        self._compare_epochs(header)
        return _problem_of_records(header, batch) if self._context.is_deep else ""

    def _compare_epochs(self, header: BatchHeader) -> None:
        known = self._context.epochs.epoch_of(header.base_offset)
        if known > header.leader_epoch >= 0 and self._epoch_damage is None:
            self._epoch_damage = damage_of(
                self._context.epochs_path,
                FileKind.EPOCHS,
                f"it gives offset {header.base_offset} to epoch {known}, "
                f"the batch there has epoch {header.leader_epoch}",
                offset=header.base_offset,
            )

    def _is_reserved(self, file: File, position: int, size: int) -> bool:
        """Whether only zeros follow, as where room was reserved for the active segment."""
        if not self._context.is_last or size - position < HEADER_BYTES:
            return False
        for at in range(position, size, CHUNK_BYTES):
            if any(file.read(min(CHUNK_BYTES, size - at), at)):
                return False
        self._report.reserved_bytes = size - position
        return True

    def _damaged(self, position: int, problem: str, *, is_torn_tail: bool = False) -> None:
        self._report.damage.append(
            damage_of(
                self._segment.path,
                FileKind.SEGMENT,
                problem,
                position=position,
                offset=self._report.next_offset,
                is_torn_tail=is_torn_tail,
            )
        )


def _problem_of_records(header: BatchHeader, batch: memoryview) -> str:
    try:
        records = decode_records(batch, header=header)
    except (MalformedRecords, UnknownCodec) as error:
        return f"the records from offset {header.base_offset} cannot be read: {error}"
    before = -1
    for record in records:
        if not before < record.offset_delta <= header.last_offset_delta:
            return (
                f"the records from offset {header.base_offset} do not rise to {header.last_offset}: "
                f"one is {header.base_offset + record.offset_delta}"
            )
        before = record.offset_delta
    return ""
