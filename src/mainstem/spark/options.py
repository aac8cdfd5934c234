"""The options of the source, under the names that Spark's own Kafka source has.

What a name or a value cannot mean here is refused with its cure, never passed over: an option that is
taken and then does nothing would cost its author a day. Spark hands names over in lower case, so they
are looked up without regard to case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from mainstem.model.ids import TopicPartition
from mainstem.spark.errors import InvalidOption

EARLIEST: Final = -2  # as in the JSON of Spark's Kafka source
LATEST: Final = -1

Offsets = dict[TopicPartition, int]

BOOTSTRAP: Final = "kafka.bootstrap.servers"
DEFAULT_GROUP_PREFIX: Final = "mainstem-spark-source"

# What both kinds of read know; for each the spelling and a word on what it takes.
_COMMON: Final = (
    BOOTSTRAP,
    "kafka.client.id",
    "kafka.group.id",
    "kafka.isolation.level",
    "kafka.max.partition.fetch.bytes",
    "kafka.request.timeout.ms",
    "kafka.security.protocol",
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
_CURES: Final[dict[str, str]] = {
    "fetchoffset.numretries": "Leave it out: offsets are asked for until kafka.request.timeout.ms is over.",
    "fetchoffset.retryintervalms": "Leave it out: the pause between attempts grows by itself.",
    "kafka.auto.offset.reset": "Use startingOffsets, and failOnDataLoss for what was deleted.",
    "kafka.enable.auto.commit": "Leave it out: the position is committed after each batch; "
    "commitOffsetsToGroup turns that off.",
    "kafka.key.deserializer": "Leave it out: keys are binary; cast the column.",
    "kafka.value.deserializer": "Leave it out: values are binary; cast the column.",
    "kafka.interceptor.classes": "Leave it out: no Java class runs in this source.",
}
_NAMES: Final = {name.lower(): name for name in (*_COMMON, *_BATCH_ONLY, *_STREAM_ONLY)}
_UNITS_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


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
class ClientOptions:
    """How brokers are reached; also the key under which a worker keeps its connections."""

    bootstrap: str
    client_id: str
    timeout_s: float


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
    reading = _Reading(given)
    reading.refuse_unknown(is_streaming)
    return SourceOptions(
        client=reading.client(),
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


class _Reading:
    """The options of one source, looked up without regard to case."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {name.lower(): str(value).strip() for name, value in given.items()}

    def text(self, name: str) -> str | None:
        return self._given.get(name.lower()) or None

    def refuse(self, name: str, reason: str, cure: str) -> NoReturn:
        raise InvalidOption(name, self._given.get(name.lower()), reason, cure)

    def refuse_unknown(self, is_streaming: bool) -> None:
        foreign = {name.lower() for name in (_BATCH_ONLY if is_streaming else _STREAM_ONLY)}
        for name in self._given:
            if name in foreign:
                other, this = ("read", "readStream") if is_streaming else ("readStream", "read")
                self.refuse(_NAMES[name], f"it belongs to {other}, not to {this}", "Leave it out.")
            if name not in _NAMES:
                raise InvalidOption(name, self._given[name], "there is no such option", _cure(name))

    def client(self) -> ClientOptions:
        bootstrap = self.text(BOOTSTRAP)
        if bootstrap is None:
            self.refuse(BOOTSTRAP, "it is missing", "Name a broker: HOST:PORT, several separated by commas.")
        protocol = (self.text("kafka.security.protocol") or "PLAINTEXT").upper()
        if protocol != "PLAINTEXT":
            self.refuse(
                "kafka.security.protocol",
                "this source speaks PLAINTEXT only so far",
                "Name a listener without TLS and SASL.",
            )
        return ClientOptions(
            bootstrap,
            self.text("kafka.client.id") or "mainstem-spark",
            (self.count("kafka.request.timeout.ms") or 30_000) / 1000,
        )

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
        found = self._json("assign", cure)
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
            offsets = self._by_partition(f"{side}Offsets", minimum=EARLIEST)
        if side == "ending" and (everywhere == EARLIEST or EARLIEST in (offsets or {}).values()):
            self.refuse("endingOffsets", "a read cannot end at the earliest offset", "Say latest or offsets.")
        at = self.text(f"{side}Timestamp")
        return Bound(
            timestamp_ms=None if at is None else self._whole(f"{side}Timestamp", at, 0),
            timestamps_ms=self._by_partition(f"{side}OffsetsByTimestamp", minimum=0)
            if self.text(f"{side}OffsetsByTimestamp")
            else None,
            offsets=offsets,
            everywhere=everywhere,
            latest_where_too_young=side == "ending" or self._strategy_is_latest(),
        )

    def _strategy_is_latest(self) -> bool:
        name = "startingOffsetsByTimestampStrategy"
        return self._choice(name, "error", ("error", "latest")) == "latest"

    def isolation(self) -> bool:
        levels = ("read_committed", "read_uncommitted")
        ours = self._choice("isolation", "", levels)
        theirs = self._choice("kafka.isolation.level", "", levels)
        if ours and theirs and ours != theirs:
            self.refuse("isolation", f"kafka.isolation.level says {theirs}", "Leave one of them out.")
        return (ours or theirs or levels[0]) == levels[0]

    # --- kinds of values

    def _choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        value = (self.text(name) or default).lower()
        if value and value not in choices:
            self.refuse(name, "it cannot be that", f"Say {' or '.join(choices)}.")
        return value

    def flag(self, name: str, default: bool) -> bool:
        return self._choice(name, str(default).lower(), ("true", "false")) == "true"

    def count(self, name: str) -> int | None:
        text = self.text(name)
        return None if text is None else self._whole(name, text, 1)

    def _whole(self, name: str, text: str, minimum: int) -> int:
        try:
            number = int(text)
        except ValueError:
            self.refuse(name, "it is no whole number", f"Give a number of {minimum} or more.")
        if not minimum <= number < 2**63:
            self.refuse(name, "it is out of range", f"Give a number of {minimum} or more.")
        return number

    def duration_ms(self, name: str, default: int) -> int:
        text = self.text(name)
        if text is None:
            return default
        found = re.fullmatch(r"(\d+)\s*([a-z]*)", text.lower())
        if found is None or (found[2] or "ms") not in _UNITS_MS:
            self.refuse(name, "it is no span of time", "Write 500ms, 30s, 15m or 1h.")
        return int(found[1]) * _UNITS_MS[found[2] or "ms"]

    def _json(self, name: str, cure: str) -> dict[str, Any]:
        try:
            found = json.loads(self.text(name) or "")
        except ValueError as error:
            self.refuse(name, f"it is no JSON: {error}", cure)
        if not isinstance(found, dict):
            self.refuse(name, "it is no JSON object", cure)
        return found

    def _by_partition(self, name: str, *, minimum: int) -> Offsets:
        cure = 'Write {"topic":{"0":23,"1":' + ("-2" if minimum < 0 else "42") + "}}."
        numbers: Offsets = {}
        for topic, entries in self._json(name, cure).items():
            if not isinstance(entries, dict):
                self.refuse(name, f"{topic!r} needs an object of partitions", cure)
            for partition, number in entries.items():
                if not partition.isdecimal() or type(number) is not int or number < minimum:
                    self.refuse(name, f"{topic!r} has {partition!r}: {number!r}", cure)
                numbers[TopicPartition(topic, int(partition))] = number
        if not numbers:
            self.refuse(name, "it names no partition", cure)
        return numbers


def _cure(name: str) -> str:
    import difflib

    if name in _CURES:
        return _CURES[name]
    close = difflib.get_close_matches(name, _NAMES, n=1, cutoff=0.85)
    if close:
        return f"Did you mean {_NAMES[close[0]]}?"
    if name.startswith(("kafka.sasl.", "kafka.ssl.")):
        return "This source speaks PLAINTEXT only so far: leave it out and name a listener without TLS."
    if name.startswith("kafka."):
        return "It steers the Java consumer, which does not run here: leave it out."
    return "docs/spark.md lists the options."
