"""The options of the sink, under the names that Spark's own Kafka sink has, and a few of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mainstem.model.compression import CODEC_NAMES, codec_id
from mainstem.model.new_columns import DEFAULT_BATCH_BYTES
from mainstem.spark.client_options import CLIENT_OPTIONS, ClientOptions, client_options
from mainstem.spark.option_reading import OptionReading

EXACTLY_ONCE: Final = "exactly-once"
AT_LEAST_ONCE: Final = "at-least-once"
DEFAULT_TRANSACTION_TIMEOUT_MS: Final = 300_000

_KNOWN: Final = (
    *CLIENT_OPTIONS,
    "topic",
    "delivery",
    "kafka.compression.type",
    "kafka.batch.size",
    "kafka.transaction.timeout.ms",
    "kafka.delivery.timeout.ms",
)
_BATCH_ONLY: Final = ("txnAppId", "txnVersion")
_STREAM_ONLY: Final = ("checkpointLocation", "path", "queryName")  # what Spark hands down with the rest


@dataclass(frozen=True, slots=True)
class SinkOptions:
    client: ClientOptions
    topic: str | None  # None: the column says
    is_exactly_once: bool
    codec: int
    batch_bytes: int
    transaction_timeout_ms: int
    patience_s: float
    app_id: str | None  # with `version` a name for a batch, under which it is written once
    version: int


def sink_options(given: Mapping[str, str], *, is_streaming: bool) -> SinkOptions:
    reading = OptionReading(given)
    own = _STREAM_ONLY if is_streaming else _BATCH_ONLY
    foreign = dict.fromkeys(_BATCH_ONLY, "write: a stream is named by its checkpoint") if is_streaming else {}
    reading.refuse_unknown((*_KNOWN, *own), foreign)
    app_id = None if is_streaming else reading.text("txnAppId")
    version = None if is_streaming else reading.text("txnVersion")
    if (app_id is None) != (version is None):
        reading.refuse(
            "txnAppId" if app_id is None else "txnVersion",
            "it is missing",
            "Set both, or neither: a batch of this name and number is written once.",
        )
    if app_id is not None and "}" in app_id:
        reading.refuse("txnAppId", "it has a closing brace", "Leave that character out.")
    is_exactly_once = reading.choice("delivery", EXACTLY_ONCE, (EXACTLY_ONCE, AT_LEAST_ONCE)) == EXACTLY_ONCE
    if app_id is not None and not is_exactly_once:
        reading.refuse("txnAppId", f"delivery is {AT_LEAST_ONCE}", f"Leave it out, or say {EXACTLY_ONCE}.")
    return SinkOptions(
        client=client_options(reading),
        topic=reading.text("topic"),
        is_exactly_once=is_exactly_once,
        codec=codec_id(reading.choice("kafka.compression.type", "none", CODEC_NAMES)),
        batch_bytes=reading.count("kafka.batch.size") or DEFAULT_BATCH_BYTES,
        transaction_timeout_ms=reading.count("kafka.transaction.timeout.ms")
        or DEFAULT_TRANSACTION_TIMEOUT_MS,
        patience_s=(reading.count("kafka.delivery.timeout.ms") or 120_000) / 1000,
        app_id=app_id,
        version=0 if version is None else reading.whole("txnVersion", version, 0),
    )
