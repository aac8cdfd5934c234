"""The broker's options about logs: defaults for topics that do not say otherwise, and upkeep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from mainstem.config.option import Scope, declare, declare_option
from mainstem.config.topic_options import TOPIC_OPTIONS
from mainstem.config.value import LONG_MAX, Kind, Unit

_broker = partial(declare, scope=Scope.BROKER)
_MS = Unit.MILLISECONDS
_BYTES = Unit.BYTES


def _same_as_topic(name: str) -> Any:
    """An option that broker and topic share by name: declared with the topic."""
    return declare_option(TOPIC_OPTIONS[name])


def _default_of(topic_option: str, name: str, **changes: Any) -> Any:
    """The broker-wide default of a topic option that has another name."""
    option = TOPIC_OPTIONS[topic_option]
    doc = f"For topics without their own {topic_option}. {option.doc}"
    return declare_option(replace(option, name=name, scope=Scope.BROKER, doc=doc, synonyms=(), **changes))


@dataclass(frozen=True)
class LogOptions:
    """What a topic gets where it says nothing, and when files are looked after."""

    log_cleanup_policy: frozenset[str] = _default_of("cleanup.policy", "log.cleanup.policy")
    compression_type: str = _same_as_topic("compression.type")
    compression_gzip_level: int = _same_as_topic("compression.gzip.level")
    compression_lz4_level: int = _same_as_topic("compression.lz4.level")
    compression_zstd_level: int = _same_as_topic("compression.zstd.level")
    message_max_bytes: int = _default_of("max.message.bytes", "message.max.bytes")
    min_insync_replicas: int = _same_as_topic("min.insync.replicas")
    acks_after: str = _same_as_topic("acks.after")
    log_segment_bytes: int = _default_of("segment.bytes", "log.segment.bytes")
    log_roll_ms: int | None = _default_of("segment.ms", "log.roll.ms", default=None, is_nullable=True)
    log_roll_hours: int = _broker(
        "log.roll.hours",
        Kind.INT,
        168,
        "log.roll.ms in hours; counts only where log.roll.ms is not set.",
        unit=Unit.HOURS,
        minimum=1,
    )
    log_roll_jitter_ms: int | None = _default_of(
        "segment.jitter.ms", "log.roll.jitter.ms", default=None, is_nullable=True
    )
    log_roll_jitter_hours: int = _broker(
        "log.roll.jitter.hours",
        Kind.INT,
        0,
        "log.roll.jitter.ms in hours; counts only where log.roll.jitter.ms is not set.",
        unit=Unit.HOURS,
        minimum=0,
    )
    log_retention_ms: int | None = _default_of(
        "retention.ms", "log.retention.ms", default=None, is_nullable=True, minimum=1, also=(-1,)
    )
    log_retention_minutes: int | None = _broker(
        "log.retention.minutes",
        Kind.INT,
        None,
        "log.retention.ms in minutes; counts only where log.retention.ms is not set.",
        unit=Unit.MINUTES,
        minimum=1,
        also=(-1,),
        is_nullable=True,
    )
    log_retention_hours: int = _broker(
        "log.retention.hours",
        Kind.INT,
        168,
        "log.retention.ms in hours; counts only where neither log.retention.ms nor log.retention.minutes is "
        "set.",
        unit=Unit.HOURS,
        minimum=1,
        also=(-1,),
    )
    log_retention_bytes: int = _default_of("retention.bytes", "log.retention.bytes")
    log_retention_check_interval_ms: int = _broker(
        "log.retention.check.interval.ms",
        Kind.LONG,
        300_000,
        "How often segments are checked against retention.",
        unit=_MS,
        minimum=1,
    )
    log_segment_delete_delay_ms: int = _default_of("file.delete.delay.ms", "log.segment.delete.delay.ms")
    log_index_interval_bytes: int = _default_of("index.interval.bytes", "log.index.interval.bytes")
    log_index_size_max_bytes: int = _default_of("segment.index.bytes", "log.index.size.max.bytes")
    log_message_timestamp_type: str = _default_of("message.timestamp.type", "log.message.timestamp.type")
    log_message_timestamp_before_max_ms: int = _default_of(
        "message.timestamp.before.max.ms", "log.message.timestamp.before.max.ms"
    )
    log_message_timestamp_after_max_ms: int = _default_of(
        "message.timestamp.after.max.ms", "log.message.timestamp.after.max.ms"
    )
    log_preallocate: bool = _default_of("preallocate", "log.preallocate")
    log_flush_interval_messages: int = _default_of("flush.messages", "log.flush.interval.messages")
    log_flush_interval_ms: int | None = _default_of(
        "flush.ms", "log.flush.interval.ms", default=None, is_nullable=True
    )
    log_flush_offset_checkpoint_interval_ms: int = _broker(
        "log.flush.offset.checkpoint.interval.ms",
        Kind.INT,
        60_000,
        "How often the recovery points are written down. What lies behind them is not checked again after a "
        "crash.",
        unit=_MS,
        minimum=1,
    )
    log_flush_start_offset_checkpoint_interval_ms: int = _broker(
        "log.flush.start.offset.checkpoint.interval.ms",
        Kind.INT,
        60_000,
        "How often the start offsets of the partitions are written down.",
        unit=_MS,
        minimum=1,
    )
    num_recovery_threads_per_data_dir: int = _broker(
        "num.recovery.threads.per.data.dir",
        Kind.INT,
        2,
        "How many threads load and recover the partitions of one log directory at the start.",
        minimum=1,
        maximum=256,
    )
    log_open_files_max: int = _broker(
        "log.open.files.max",
        Kind.INT,
        4096,
        "How many segment files are kept open for reading and writing at once; the least recently used is "
        "closed and opened again when it is needed.",
        minimum=64,
        maximum=1_048_576,
    )
    journal_piece_bytes: int = _broker(
        "journal.piece.bytes",
        Kind.INT,
        67_108_864,
        "The size of one file of the journal, which takes the appends of all partitions under "
        "acks.after=disk. A file is reused once everything in it is flushed to the partitions' own files.",
        unit=_BYTES,
        minimum=1_048_576,
    )
    journal_max_bytes: int = _broker(
        "journal.max.bytes",
        Kind.LONG,
        536_870_912,
        "The most disk that the journal takes. When it is full, appends wait for a flush.",
        unit=_BYTES,
        minimum=2_097_152,
        maximum=LONG_MAX,
    )
    log_cleaner_enable: bool = _broker(
        "log.cleaner.enable",
        Kind.BOOLEAN,
        True,
        "Whether logs with cleanup.policy=compact are compacted. The broker's own topics need it too: they "
        "grow for ever without it.",
    )
    log_cleaner_threads: int = _broker(
        "log.cleaner.threads",
        Kind.INT,
        1,
        "How many logs are compacted at the same time, each in a thread of its own.",
        minimum=1,
        maximum=64,
    )
    log_cleaner_io_max_bytes_per_second: float = _broker(
        "log.cleaner.io.max.bytes.per.second",
        Kind.DOUBLE,
        1.7976931348623157e308,
        "How many bytes compaction may read and write in a second, all its threads together.",
        minimum=1,
        is_dynamic=True,
    )
    log_cleaner_dedupe_buffer_size: int = _broker(
        "log.cleaner.dedupe.buffer.size",
        Kind.LONG,
        134_217_728,
        "The memory for the keys that compaction knows at once, all its threads together; it is taken while "
        "something is compacted. Where there are many keys, one takes 16 bytes. What does not fit is left to "
        "the next cleaning, which reads the log again.",
        unit=_BYTES,
        minimum=1_048_576,
        maximum=1_099_511_627_776,
        is_dynamic=True,
    )
    log_cleaner_io_buffer_size: int = _broker(
        "log.cleaner.io.buffer.size",
        Kind.INT,
        524_288,
        "The memory for reading and writing segments, all cleaner threads together. A larger batch is read "
        "whole.",
        unit=_BYTES,
        minimum=8_192,
        is_dynamic=True,
    )
    log_cleaner_io_buffer_load_factor: float = _broker(
        "log.cleaner.io.buffer.load.factor",
        Kind.DOUBLE,
        0.9,
        "How full the buffer of keys may get. More keys are known at once, and each takes longer to find.",
        minimum=0.1,
        maximum=0.95,
        is_dynamic=True,
    )
    log_cleaner_backoff_ms: int = _broker(
        "log.cleaner.backoff.ms",
        Kind.LONG,
        15_000,
        "How long a cleaner thread sleeps when there is nothing to compact.",
        unit=_MS,
        minimum=0,
        is_dynamic=True,
    )
    log_cleaner_min_cleanable_ratio: float = _default_of(
        "min.cleanable.dirty.ratio", "log.cleaner.min.cleanable.ratio"
    )
    log_cleaner_delete_retention_ms: int = _default_of(
        "delete.retention.ms", "log.cleaner.delete.retention.ms"
    )
    log_cleaner_min_compaction_lag_ms: int = _default_of(
        "min.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms"
    )
    log_cleaner_max_compaction_lag_ms: int = _default_of(
        "max.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"
    )
    producer_id_expiration_ms: int = _broker(
        "producer.id.expiration.ms",
        Kind.INT,
        86_400_000,
        "How long a partition remembers the sequence numbers of an idempotent producer that writes no more.",
        unit=_MS,
        minimum=1,
        is_dynamic=True,
    )
    producer_id_expiration_check_interval_ms: int = _broker(
        "producer.id.expiration.check.interval.ms",
        Kind.INT,
        600_000,
        "How often forgotten producers are looked for.",
        unit=_MS,
        minimum=1,
    )
    transaction_partition_verification_enable: bool = _broker(
        "transaction.partition.verification.enable",
        Kind.BOOLEAN,
        True,
        "Whether a partition asks the transaction coordinator before it takes the first batch of a "
        "transaction. Without it a write that comes too late can leave a transaction open for ever. Clients "
        "that add partitions by writing to them (transaction version 2) are always checked.",
        is_dynamic=True,
    )
