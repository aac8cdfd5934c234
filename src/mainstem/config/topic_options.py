"""The options of a topic, under Kafka's names and with Kafka's defaults where Kafka has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from mainstem.config.option import Option, Scope, Synonym, declare, options_of
from mainstem.config.value import LONG_MAX, Kind, Unit

_topic = partial(declare, scope=Scope.TOPIC, is_dynamic=True)
_both = partial(declare, scope=Scope.BOTH, is_dynamic=True)
_MS = Unit.MILLISECONDS
_BYTES = Unit.BYTES
_WEEK_MS = 604_800_000


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """The effective options of one topic: its own settings over the broker's defaults."""

    cleanup_policy: frozenset[str] = _topic(
        "cleanup.policy",
        Kind.SET,
        frozenset({"delete"}),
        "What happens to old data: delete drops whole segments by age and size, compact keeps the newest "
        "record of each key. Both may be given; none keeps everything.",
        choices=("delete", "compact"),
        synonyms=(Synonym("log.cleanup.policy"),),
    )
    compression_type: str = _both(
        "compression.type",
        Kind.STRING,
        "producer",
        "The codec that batches are stored in. producer keeps each batch as it came, the cheapest choice; "
        "any other makes the broker recompress batches that came in another codec.",
        choices=("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"),
        synonyms=(Synonym("compression.type"),),
    )
    compression_gzip_level: int = _both(
        "compression.gzip.level",
        Kind.INT,
        -1,
        "The effort of gzip where the broker recompresses; -1 leaves it to the library.",
        minimum=1,
        maximum=9,
        also=(-1,),
        synonyms=(Synonym("compression.gzip.level"),),
    )
    compression_lz4_level: int = _both(
        "compression.lz4.level",
        Kind.INT,
        9,
        "The effort of lz4 where the broker recompresses.",
        minimum=1,
        maximum=17,
        synonyms=(Synonym("compression.lz4.level"),),
    )
    compression_zstd_level: int = _both(
        "compression.zstd.level",
        Kind.INT,
        3,
        "The effort of zstd where the broker recompresses; negative levels trade size for speed.",
        minimum=-131072,
        maximum=22,
        synonyms=(Synonym("compression.zstd.level"),),
    )
    delete_retention_ms: int = _topic(
        "delete.retention.ms",
        Kind.LONG,
        86_400_000,
        "How long compaction keeps the marker of a deleted key, so that a slow reader still learns of the "
        "deletion.",
        unit=_MS,
        minimum=0,
        synonyms=(Synonym("log.cleaner.delete.retention.ms"),),
    )
    file_delete_delay_ms: int = _topic(
        "file.delete.delay.ms",
        Kind.LONG,
        60_000,
        "How long a dropped segment stays on disk under a .deleted name, for readers that still hold it.",
        unit=_MS,
        minimum=0,
        synonyms=(Synonym("log.segment.delete.delay.ms"),),
    )
    flush_messages: int = _topic(
        "flush.messages",
        Kind.LONG,
        LONG_MAX,
        "Flush the partition's files after this many messages; the append that reaches it is acknowledged "
        "after the flush. With 1 it is as acks.after = disk, which is the plainer way to say it.",
        minimum=1,
        synonyms=(Synonym("log.flush.interval.messages"),),
    )
    flush_ms: int = _topic(
        "flush.ms",
        Kind.LONG,
        LONG_MAX,
        "Flush the partition's files when unflushed data is older than this. Rarely useful: see acks.after.",
        unit=_MS,
        minimum=0,
        synonyms=(Synonym("log.flush.interval.ms"),),
    )
    index_interval_bytes: int = _topic(
        "index.interval.bytes",
        Kind.INT,
        4096,
        "How many bytes of log lie between two entries of the offset index. Fewer make a bigger index and a "
        "shorter search.",
        unit=_BYTES,
        minimum=0,
        synonyms=(Synonym("log.index.interval.bytes"),),
    )
    max_compaction_lag_ms: int = _topic(
        "max.compaction.lag.ms",
        Kind.LONG,
        LONG_MAX,
        "The longest time that a record of a compacted topic may stay uncompacted.",
        unit=_MS,
        minimum=1,
        synonyms=(Synonym("log.cleaner.max.compaction.lag.ms"),),
    )
    max_message_bytes: int = _topic(
        "max.message.bytes",
        Kind.INT,
        1_048_588,
        "The largest record batch that the topic takes, as it comes over the wire.",
        unit=_BYTES,
        minimum=0,
        synonyms=(Synonym("message.max.bytes"),),
    )
    message_timestamp_type: str = _topic(
        "message.timestamp.type",
        Kind.STRING,
        "CreateTime",
        "Whether a record keeps the timestamp of its producer or gets the time of its append.",
        choices=("CreateTime", "LogAppendTime"),
        synonyms=(Synonym("log.message.timestamp.type"),),
    )
    message_timestamp_before_max_ms: int = _topic(
        "message.timestamp.before.max.ms",
        Kind.LONG,
        LONG_MAX,
        "How far a producer's timestamp may lie behind the broker's clock. Without meaning under "
        "LogAppendTime.",
        unit=_MS,
        minimum=0,
        synonyms=(Synonym("log.message.timestamp.before.max.ms"),),
    )
    message_timestamp_after_max_ms: int = _topic(
        "message.timestamp.after.max.ms",
        Kind.LONG,
        3_600_000,
        "How far a producer's timestamp may lie ahead of the broker's clock. Without meaning under "
        "LogAppendTime.",
        unit=_MS,
        minimum=0,
        synonyms=(Synonym("log.message.timestamp.after.max.ms"),),
    )
    min_cleanable_dirty_ratio: float = _topic(
        "min.cleanable.dirty.ratio",
        Kind.DOUBLE,
        0.5,
        "The share of a compacted log that must be uncompacted before compaction starts.",
        minimum=0,
        maximum=1,
        synonyms=(Synonym("log.cleaner.min.cleanable.ratio"),),
    )
    min_compaction_lag_ms: int = _topic(
        "min.compaction.lag.ms",
        Kind.LONG,
        0,
        "The shortest time that a record of a compacted topic stays readable as it was written.",
        unit=_MS,
        minimum=0,
        synonyms=(Synonym("log.cleaner.min.compaction.lag.ms"),),
    )
    min_insync_replicas: int = _both(
        "min.insync.replicas",
        Kind.INT,
        1,
        "How many replicas must be in sync for a produce with acks=all to be taken.",
        minimum=1,
        synonyms=(Synonym("min.insync.replicas"),),
    )
    preallocate: bool = _topic(
        "preallocate",
        Kind.BOOLEAN,
        False,
        "Reserve the full size of a segment on disk when it is made.",
        synonyms=(Synonym("log.preallocate"),),
    )
    retention_bytes: int = _topic(
        "retention.bytes",
        Kind.LONG,
        -1,
        "The size per partition above which the oldest segments are dropped; -1 sets no limit. Age and size "
        "both count, whichever comes first.",
        unit=_BYTES,
        minimum=-1,
        synonyms=(Synonym("log.retention.bytes"),),
    )
    retention_ms: int = _topic(
        "retention.ms",
        Kind.LONG,
        _WEEK_MS,
        "The age after which a segment is dropped, counted from its newest record; -1 keeps it for ever.",
        unit=_MS,
        minimum=-1,
        synonyms=(
            Synonym("log.retention.ms"),
            Synonym("log.retention.minutes", 60_000),
            Synonym("log.retention.hours", 3_600_000),
        ),
    )
    segment_bytes: int = _topic(
        "segment.bytes",
        Kind.INT,
        1_073_741_824,
        "The size at which a new segment file is begun. Retention and compaction work on whole segments.",
        unit=_BYTES,
        minimum=1_048_576,
        synonyms=(Synonym("log.segment.bytes"),),
    )
    segment_index_bytes: int = _topic(
        "segment.index.bytes",
        Kind.INT,
        10_485_760,
        "The largest an index of a segment may grow; a full index makes the log begin a new segment.",
        unit=_BYTES,
        minimum=4,
        synonyms=(Synonym("log.index.size.max.bytes"),),
    )
    segment_jitter_ms: int = _topic(
        "segment.jitter.ms",
        Kind.LONG,
        0,
        "Up to this much is taken off segment.ms at random, so that segments are not all rolled at the same "
        "moment.",
        unit=_MS,
        minimum=0,
        synonyms=(Synonym("log.roll.jitter.ms"), Synonym("log.roll.jitter.hours", 3_600_000)),
    )
    segment_ms: int = _topic(
        "segment.ms",
        Kind.LONG,
        _WEEK_MS,
        "The age at which a new segment file is begun even if the old one is not full.",
        unit=_MS,
        minimum=1,
        synonyms=(Synonym("log.roll.ms"), Synonym("log.roll.hours", 3_600_000)),
    )
    unclean_leader_election_enable: bool = _topic(
        "unclean.leader.election.enable",
        Kind.BOOLEAN,
        False,
        "Whether a replica that is not in sync may become leader where no other is left, at the price of "
        "lost records.",
    )
    acks_after: str = _both(
        "acks.after",
        Kind.STRING,
        "page-cache",
        "When a produce is acknowledged: once the operating system has the data (survives a crash of the "
        "broker), or once it is on stable storage (survives a power loss).",
        choices=("page-cache", "disk"),
        synonyms=(Synonym("acks.after"),),
    )


TOPIC_OPTIONS: Mapping[str, Option] = options_of(TopicConfig)
