"""Partition logs for tests: on a real or a simulated disk, with a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mainstem.config.topic_options import TopicConfig
from mainstem.log.loading import LogPlace, create_log, recover_log
from mainstem.log.open_files import OpenFiles
from mainstem.log.partition_log import PartitionLog
from mainstem.log.staged import StagedBatch
from mainstem.log.storage import LogStorage
from mainstem.model.batch import parse_header
from mainstem.model.ids import TopicId, TopicPartition
from mainstem.model.records import NewRecord, build_batch, decode_records
from mainstem.ports.clock import TimerHandle
from mainstem.ports.disk import Disk, RealDisk

START_MS = 1_700_000_000_000


class StandingClock:
    """Moves only when it is told to; timers never fire."""

    def __init__(self, time_ms: int = START_MS) -> None:
        self.time_ms = time_ms

    def now_ms(self) -> int:
        return self.time_ms

    def monotonic_ms(self) -> float:
        return float(self.time_ms)

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> TimerHandle:
        raise AssertionError(f"nobody should wait {delay_ms} ms for {callback}")


def storage_on(disk: Disk | None = None, clock: StandingClock | None = None) -> LogStorage:
    disk = disk or RealDisk()
    return LogStorage(disk, clock or StandingClock(), OpenFiles(disk, 64))


def place_in(folder: str, config: TopicConfig | None = None, topic: str = "t") -> LogPlace:
    topic_id = TopicId(topic.encode().ljust(16, b"."))
    return LogPlace(f"{folder}/{topic}-0", TopicPartition(topic, 0), topic_id, config or TopicConfig())


def new_log(
    folder: str, config: TopicConfig | None = None, *, storage: LogStorage | None = None
) -> PartitionLog:
    return create_log(storage or storage_on(), place_in(folder, config), sync=False)


def recovered(
    log: PartitionLog,
    *,
    recovery_point: int | None = None,
    log_start_offset: int = 0,
    storage: LogStorage | None = None,
) -> PartitionLog:
    """The log as a start after a crash finds it."""
    place = LogPlace(log.directory, log.topic_partition, log.topic_id, log.config)
    return recover_log(
        storage or storage_on(),
        place,
        recovery_point=log.recovery_point if recovery_point is None else recovery_point,
        log_start_offset=log_start_offset,
    )


def batch_of(
    *values: bytes, time_ms: int = START_MS, producer: tuple[int, int, int] | None = None, codec: int = 0
) -> bytes:
    """`producer` is id, epoch and first sequence."""
    producer_id, epoch, sequence = producer or (-1, -1, -1)
    return build_batch(
        [NewRecord(b"k", value, timestamp_ms=time_ms + number) for number, value in enumerate(values)],
        codec=codec,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )


def staged(batches: Sequence[bytes]) -> list[StagedBatch]:
    return [StagedBatch(batch, parse_header(batch)) for batch in batches]


def append(log: PartitionLog, *batches: bytes, epoch: int = 0) -> int:
    """Appends in one run; the base offset of the first batch."""
    run = log.append(staged(batches), epoch)
    for outcome in run.outcomes:
        assert outcome.error is None, outcome.error
    return run.outcomes[0].base_offset


def values_in(log: PartitionLog, from_offset: int = 0) -> dict[int, bytes | None]:
    """Offset and value of every record from an offset on, read as a loader reads."""
    found: dict[int, bytes | None] = {}
    for header, batch in log.read_batches(from_offset, log.log_end_offset, 1 << 16):
        for record in decode_records(batch, header=header):
            offset = header.base_offset + record.offset_delta
            assert offset not in found
            if offset >= from_offset:
                found[offset] = record.value
    return found
