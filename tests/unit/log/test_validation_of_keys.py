"""Compacted topics take no record without a key, and say which ones those are; others do not care."""

from __future__ import annotations

import pytest

from mainstem.config.topic_options import TopicConfig
from mainstem.log.errors import CorruptBatch, InvalidRecord
from mainstem.log.validation import stage_batches
from mainstem.model.batch import HEADER_BYTES, parse_header
from mainstem.model.compression import compress
from mainstem.model.records import NewRecord, build_batch, seal_batch

NOW_MS = 1_700_000_000_000
COMPACT = TopicConfig(cleanup_policy=frozenset({"compact", "delete"}))


def batch(*keys: bytes | None, codec: int = 0) -> bytes:
    return build_batch([NewRecord(key, b"v", timestamp_ms=NOW_MS) for key in keys], codec=codec)


@pytest.mark.parametrize("codec", range(5))
def test_the_records_without_a_key_are_named(codec: int) -> None:
    with pytest.raises(InvalidRecord, match="record 1 of the batch has no key") as caught:
        stage_batches(batch(b"a", None, b"", None, codec=codec), COMPACT, NOW_MS)
    assert [number for number, _ in caught.value.record_errors] == [1, 3]
    assert len(stage_batches(batch(b"a", b"", codec=codec), COMPACT, NOW_MS)) == 1
    assert len(stage_batches(batch(None, codec=codec), TopicConfig(), NOW_MS)) == 1


def test_records_that_cannot_be_read_are_corrupt() -> None:
    whole = batch(b"a", b"b")
    header, payload = parse_header(whole), whole[HEADER_BYTES:]
    for codec, damaged in (
        (0, payload[:-1]),
        (0, payload + b"x"),
        (1, b"not gzip"),
        (4, compress(4, payload)[:-2]),
    ):
        with pytest.raises(CorruptBatch):
            stage_batches(seal_batch(header._replace(attributes=codec), damaged), COMPACT, NOW_MS)
