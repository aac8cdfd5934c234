"""Options of the sink: what is taken, and that what is wrong is told with its cure."""

from __future__ import annotations

import pytest

from mainstem.model.compression import ZSTD
from mainstem.spark.errors import InvalidOption
from mainstem.spark.sink_options import SinkOptions, sink_options

NEEDED = {"kafka.bootstrap.servers": "b:1"}


def sink(is_streaming: bool = False, /, **given: str) -> SinkOptions:
    return sink_options({**NEEDED, **given}, is_streaming=is_streaming)


def test_exactly_once_unless_told_otherwise() -> None:
    assert sink().is_exactly_once
    assert sink(True, checkpointLocation="/x", path="/y").is_exactly_once
    assert not sink(True, delivery="At-Least-Once").is_exactly_once


def test_values() -> None:
    found = sink(
        topic="t",
        txnAppId="nightly",
        txnVersion="0",
        **{
            "kafka.compression.type": "zstd",
            "kafka.batch.size": "1000",
            "KAFKA.transaction.timeout.MS": "5000",
        },
    )
    assert (found.topic, found.app_id, found.version) == ("t", "nightly", 0)
    assert (found.codec, found.batch_bytes, found.transaction_timeout_ms) == (ZSTD, 1000, 5000)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kafka.bootstrap.servers": ""}, ["kafka.bootstrap.servers", "missing"]),
        ({"delivery": "exactly_once"}, ["delivery", "'exactly_once'", "exactly-once or at-least-once"]),
        ({"txnAppId": "x"}, ["txnVersion", "Set both, or neither"]),
        ({"txnVersion": "1"}, ["txnAppId", "Set both, or neither"]),
        ({"txnAppId": "a}b", "txnVersion": "1"}, ["txnAppId", "closing brace"]),
        ({"txnAppId": "x", "txnVersion": "-1"}, ["txnVersion", "0 or more"]),
        ({"txnAppId": "x", "txnVersion": "1", "delivery": "at-least-once"}, ["txnAppId", "at-least-once"]),
        ({"kafka.compression.type": "rar"}, ["kafka.compression.type", "zstd"]),
        ({"kafka.linger.ms": "5"}, ["kafka.linger.ms", "leave it out"]),
        ({"subscribe": "t"}, ["subscribe", "no such option"]),
    ],
)
def test_what_is_wrong_names_option_value_and_cure(given: dict[str, str], words: list[str]) -> None:
    with pytest.raises(InvalidOption) as caught:
        sink(**given)
    for word in words:
        assert word in str(caught.value)


def test_a_stream_is_named_by_its_checkpoint() -> None:
    with pytest.raises(
        InvalidOption, match=r"txnAppId.*belongs to write: a stream is named by its checkpoint"
    ):
        sink(True, txnAppId="x", txnVersion="1")
