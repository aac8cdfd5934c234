"""The options of the source, under the names that Spark's own Kafka source has.

What a name or a value cannot mean here is refused with its cure, never passed over: an option that is
taken and then does nothing would cost its author a day. Spark hands names over in lower case, so they
are looked up without regard to case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mainstem.model.ids import TopicPartition
from mainstem.spark.client_options import CLIENT_OPTIONS, ClientOptions, client_options
from mainstem.spark.option_reading import Offsets, OptionReading

EARLIEST: Final = -2  # as in the JSON of Spark's Kafka source
LATEST: Final = -1

DEFAULT_GROUP_PREFIX: Final = "mainstem-spark-source"

# What both kinds of read know; for each the spelling and a word on what it takes.
_COMMON: Final = (
    *CLIENT_OPTIONS,
    "kafka.group.id",
    "kafka.isolation.level",
    "kafka.max.partition.fetch.bytes",
    "subscribe",
    "subscribePattern",
    "assign",
    "isolation",
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "failOnDataLoss",
    "includeHeaders",
    "minPartitions",
    "maxRecordsPerPartition",
    "kafkaConsumer.pollTimeoutMs",
)
_BATCH_ONLY: Final = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
_STREAM_ONLY: Final = (
    "groupIdPrefix",
    "commitOffsetsToGroup",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "maxBytesPerTrigger",
)


@dataclass(frozen=True, slots=True)
class Subscription:
    """Which partitions: exactly one of the three is set."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: tuple[TopicPartition, ...] = ()

    def __str__(self) -> str:
        if self.topics:
            return f"subscribe={','.join(self.topics)}"
        if self.pattern is not None:
            return f"subscribePattern={self.pattern}"
        return f"assign={', '.join(map(str, self.partitions))}"


@dataclass(frozen=True, slots=True)
class Bound:
    """Where to start or to end: the first of these that is set rules."""

    timestamp_ms: int | None = None  # the same for all partitions
    timestamps_ms: Mapping[TopicPartition, int] | None = None
    offsets: Mapping[TopicPartition, int] | None = None  # EARLIEST and LATEST are possible
    everywhere: int = EARLIEST  # or LATEST
    latest_where_too_young: bool = False  # instead of an error, where no record is so young


@dataclass(frozen=True, slots=True)
class SourceOptions:
    client: ClientOptions
    subscription: Subscription
    start: Bound
    end: Bound
    read_committed: bool
    fail_on_data_loss: bool
    with_headers: bool
    min_partitions: int | None
    max_records_per_partition: int | None
    fetch_bytes: int
    patience_s: float
    group_id: str | None
    group_prefix: str
    commits_to_group: bool
    max_rows_per_trigger: int | None
    min_rows_per_trigger: int | None
    max_trigger_delay_ms: int
    max_bytes_per_trigger: int | None


def source_options(given: Mapping[str, str], *, is_streaming: bool) -> SourceOptions:
    reading = _SourceReading(given)
    this, other = (_STREAM_ONLY, _BATCH_ONLY) if is_streaming else (_BATCH_ONLY, _STREAM_ONLY)
    where = "read, not to readStream" if is_streaming else "readStream, not to read"
    reading.refuse_unknown((*_COMMON, *this), dict.fromkeys(other, where))
    return SourceOptions(
        client=client_options(reading),
        subscription=reading.subscription(),
        start=reading.bound("starting", LATEST if is_streaming else EARLIEST),
        end=reading.bound("ending", LATEST),
        read_committed=reading.isolation(),
        fail_on_data_loss=reading.flag("failOnDataLoss", True),
        with_headers=reading.flag("includeHeaders", False),
        min_partitions=reading.count("minPartitions"),
        max_records_per_partition=reading.count("maxRecordsPerPartition"),
        fetch_bytes=reading.count("kafka.max.partition.fetch.bytes") or 4 << 20,
        patience_s=(reading.count("kafkaConsumer.pollTimeoutMs") or 120_000) / 1000,
        group_id=reading.text("kafka.group.id"),
        group_prefix=reading.text("groupIdPrefix") or DEFAULT_GROUP_PREFIX,
        commits_to_group=reading.flag("commitOffsetsToGroup", True),
        max_rows_per_trigger=reading.count("maxOffsetsPerTrigger"),
        min_rows_per_trigger=reading.count("minOffsetsPerTrigger"),
        max_trigger_delay_ms=reading.duration_ms("maxTriggerDelay", 15 * 60_000),
        max_bytes_per_trigger=reading.count("maxBytesPerTrigger"),
    )


def check_either(given: Mapping[str, str]) -> SourceOptions:
    """As much as can be said before it is known whether a batch or a stream is read."""
    names = {name.lower() for name in given}
    streams = bool(names & {name.lower() for name in _STREAM_ONLY})
    return source_options(given, is_streaming=streams)


class _SourceReading(OptionReading):
    def subscription(self) -> Subscription:
        ways = [name for name in ("subscribe", "subscribePattern", "assign") if self.text(name)]
        cure = 'Set exactly one of subscribe="t1,t2", subscribePattern="t.*", assign=\'{"t1":[0,1]}\'.'
        if not ways:
            self.refuse("subscribe", "nothing says which topics to read", cure)
        if len(ways) > 1:
            self.refuse(ways[1], f"{ways[0]} is set too", cure)
        text = self.text(ways[0]) or ""
        if ways[0] == "subscribe":
            topics = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
            return Subscription(topics) if topics else self.refuse("subscribe", "it names no topic", cure)
        if ways[0] == "subscribePattern":
            try:
                re.compile(text)
            except re.error as error:
                self.refuse(ways[0], f"it is no regular expression: {error}", cure)
            return Subscription(pattern=text)
        return Subscription(partitions=self._assigned())

    def _assigned(self) -> tuple[TopicPartition, ...]:
        cure = 'Write {"topic":[0,1]}.'
        found = self.json_object("assign", cure)
        partitions = []
        for topic, numbers in found.items():
            if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
                self.refuse("assign", f"{topic!r} needs a list of partition numbers", cure)
            partitions += [TopicPartition(topic, number) for number in numbers]
        if not partitions:
            self.refuse("assign", "it names no partition", cure)
        return tuple(sorted(set(partitions)))

    def bound(self, side: str, everywhere: int) -> Bound:
        offsets: Offsets | None = None
        text = self.text(f"{side}Offsets")
        if text is not None and text.lower() in ("earliest", "latest"):
            everywhere = EARLIEST if text.lower() == "earliest" else LATEST
        elif text is not None:
            offsets = self.by_partition(f"{side}Offsets", minimum=EARLIEST)
        if side == "ending" and (everywhere == EARLIEST or EARLIEST in (offsets or {}).values()):
            self.refuse("endingOffsets", "a read cannot end at the earliest offset", "Say latest or offsets.")
        at = self.text(f"{side}Timestamp")
        return Bound(
            timestamp_ms=None if at is None else self.whole(f"{side}Timestamp", at, 0),
            timestamps_ms=self.by_partition(f"{side}OffsetsByTimestamp", minimum=0)
            if self.text(f"{side}OffsetsByTimestamp")
            else None,
            offsets=offsets,
            everywhere=everywhere,
            latest_where_too_young=side == "ending" or self._strategy_is_latest(),
        )

    def _strategy_is_latest(self) -> bool:
        name = "startingOffsetsByTimestampStrategy"
        return self.choice(name, "error", ("error", "latest")) == "latest"

    def isolation(self) -> bool:
        levels = ("read_committed", "read_uncommitted")
        ours = self.choice("isolation", "", levels)
        theirs = self.choice("kafka.isolation.level", "", levels)
        if ours and theirs and ours != theirs:
            self.refuse("isolation", f"kafka.isolation.level says {theirs}", "Leave one of them out.")
        return (ours or theirs or levels[0]) == levels[0]
