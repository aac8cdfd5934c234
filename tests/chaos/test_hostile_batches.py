"""Record batches that lie: refused with the error of their partition, and nothing of them is kept."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

import cramjam
import pytest
from tests.support.broker_process import BrokerProcess
from tests.support.raw_kafka import (
    RawConnection,
    batch,
    cpu_seconds,
    create_topic,
    end_offset,
    fetched,
    forget_peak,
    peak_resident_bytes,
    produce_error,
)

from mainstem.model import compression
from mainstem.model.batch import CRC_START, HEADER_BYTES, BatchHeader, parse_header
from mainstem.model.crc import crc32c
from mainstem.model.records import seal_batch

NONE, CORRUPT, TOO_LARGE, UNSUPPORTED_FORMAT, INVALID_RECORD = 0, 2, 10, 43, 87
INVALID_TIMESTAMP, UNSUPPORTED_COMPRESSION, INVALID_REQUEST, NOT_AUTHORIZED = 32, 76, 42, 53
CONTROL_ATTRIBUTES = 0x20
GOOD = batch(b"first", b"second")


def sealed(payload: bytes | None = None, **changes: int) -> bytes:
    """The good batch with another header, and a checksum that says that all is well."""
    header = parse_header(GOOD)._replace(**changes)
    whole = seal_batch(header, GOOD[HEADER_BYTES:] if payload is None else payload)
    if "length" in changes:
        whole = whole[:8] + struct.pack(">i", changes["length"]) + whole[12:]
    return whole


LIES: dict[str, tuple[bytes | None, set[int]]] = {
    "no records": (None, {INVALID_REQUEST, INVALID_RECORD}),
    "nothing": (b"", {CORRUPT, INVALID_RECORD}),
    "half a header": (GOOD[:30], {CORRUPT}),
    "cut short": (GOOD[:-1], {CORRUPT}),
    "a byte too many": (GOOD + b"\0", {CORRUPT}),
    "a wrong checksum": (GOOD[:-1] + bytes((GOOD[-1] ^ 1,)), {CORRUPT}),
    "length 0": (sealed(length=0), {CORRUPT}),
    "length -1": (sealed(length=-1), {CORRUPT}),
    "the greatest length": (sealed(length=2**31 - 1), {CORRUPT, TOO_LARGE}),
    "the least length": (sealed(length=-(2**31)), {CORRUPT}),
    "magic 0": (GOOD[:16] + b"\0" + GOOD[17:], {UNSUPPORTED_FORMAT, CORRUPT}),
    "magic 1": (GOOD[:16] + b"\1" + GOOD[17:], {UNSUPPORTED_FORMAT, CORRUPT}),
    "magic 3": (GOOD[:16] + b"\3" + GOOD[17:], {CORRUPT}),
    "magic -1": (GOOD[:16] + b"\xff" + GOOD[17:], {CORRUPT}),
    "no records in it": (sealed(record_count=0, last_offset_delta=-1), {INVALID_RECORD}),
    "a negative count": (sealed(record_count=-1, last_offset_delta=-2), {INVALID_RECORD}),
    "a count that is not its offsets": (sealed(record_count=7), {INVALID_RECORD}),
    "offsets that are not its count": (sealed(last_offset_delta=700), {INVALID_RECORD}),
    "a negative offset delta": (sealed(last_offset_delta=-1), {INVALID_RECORD}),
    "more records than bytes": (
        sealed(record_count=2**31 - 1, last_offset_delta=2**31 - 2),
        {INVALID_RECORD, CORRUPT},
    ),
    "more records than a codec can hold": (
        sealed(record_count=2**31 - 1, last_offset_delta=2**31 - 2, attributes=compression.LZ4),
        {INVALID_RECORD, CORRUPT},
    ),
    "a control batch": (sealed(attributes=CONTROL_ATTRIBUTES), {INVALID_RECORD}),
    "unknown attributes": (sealed(attributes=0x4000), {INVALID_RECORD}),
    "codec 5": (sealed(attributes=5), {UNSUPPORTED_COMPRESSION}),
    "codec 7": (sealed(attributes=7), {UNSUPPORTED_COMPRESSION}),
    "a producer without an epoch": (sealed(producer_id=7, base_sequence=0), {INVALID_RECORD}),
    "a producer without a sequence": (sealed(producer_id=7, producer_epoch=0), {INVALID_RECORD}),
    "a transaction of nobody": (sealed(attributes=0x10), {INVALID_RECORD, NOT_AUTHORIZED}),
    "a time in 300 million years": (sealed(max_timestamp=2**63 - 1), {INVALID_TIMESTAMP}),
    "a good one and a bad one": (GOOD + GOOD[:-1] + b"\1", {CORRUPT, INVALID_RECORD}),
}


@pytest.fixture(scope="module")
def topics(victim: BrokerProcess) -> None:
    with RawConnection((victim.host, victim.port)) as peer:
        create_topic(peer, "lies")
        create_topic(peer, "records")
        create_topic(peer, "lz4", compression_type="lz4")
        create_topic(peer, "compact", cleanup_policy="compact")
        create_topic(peer, "old", message_timestamp_before_max_ms="3600000")
        create_topic(peer, "stamped", message_timestamp_type="LogAppendTime", compression_type="gzip")


@pytest.mark.usefixtures("topics", "watched")
def test_a_batch_that_lies_is_refused_and_leaves_nothing(peer: RawConnection) -> None:
    assert produce_error(peer, "lies", GOOD) == NONE
    before = end_offset(peer, "lies")
    for name, (records, codes) in LIES.items():
        assert produce_error(peer, "lies", records) in codes, name
        assert end_offset(peer, "lies") == before, name
    assert produce_error(peer, "lies", GOOD) == NONE
    assert [parse_header(found).record_count for found in (fetched(peer, "lies"),)] == [2]


LYING_PAYLOADS: dict[str, tuple[bytes, int]] = {
    # lies that only who decodes the records can see; a topic that stores them as they came takes them
    "a record of two billion bytes": (b"\xfe\xff\xff\xff\x0f" + bytes(20), 0),
    "a record of -1 bytes": (b"\x01" + bytes(20), 0),
    "an endless varint": (b"\xff" * 30, 0),
    "a key longer than its record": (b"\x10\0\0\0\xfe\xff\xff\xff\x0f" + bytes(20), 0),
    "a billion headers": (b"\x1e\0\0\0\1\1" + b"\xfe\xff\xff\xff\x0f" + bytes(20), 0),
    "gzip that is none": (bytes(100), compression.GZIP),
    "snappy that is none": (b"\xff" * 100, compression.SNAPPY),
    "lz4 that is none": (b"\xff" * 100, compression.LZ4),
    "zstd that is none": (b"\xff" * 100, compression.ZSTD),
}


@pytest.mark.usefixtures("topics", "watched")
def test_records_that_lie_are_refused_where_they_are_looked_at(peer: RawConnection) -> None:
    for name, (payload, codec) in LYING_PAYLOADS.items():
        whole = sealed(payload, attributes=codec, max_timestamp=parse_header(GOOD).base_timestamp)
        for topic in ("compact", "old"):
            assert produce_error(peer, topic, whole) in (CORRUPT, INVALID_RECORD), (name, topic)
        if codec:
            for topic in ("lz4", "stamped"):
                if codec != (compression.LZ4 if topic == "lz4" else compression.GZIP):
                    assert produce_error(peer, topic, whole) in (CORRUPT, INVALID_RECORD), (name, topic)


@pytest.mark.usefixtures("topics", "watched")
def test_records_that_lie_and_were_taken_hurt_nobody_but_who_reads_them(peer: RawConnection) -> None:
    now_ms = parse_header(GOOD).base_timestamp
    for name, (payload, codec) in LYING_PAYLOADS.items():
        whole = sealed(payload, attributes=codec, max_timestamp=now_ms + 5)
        if produce_error(peer, "records", whole) == NONE:
            code, _ = end_offset(peer, "records", timestamp=now_ms)  # has to look into the records
            assert code in (0, CORRUPT, 56), name
            code, _ = end_offset(peer, "records", timestamp=-3)  # the record with the greatest time
            assert code in (0, CORRUPT, 56), name
        assert produce_error(peer, "records", GOOD) == NONE, name  # the partition is still there
        code, end = end_offset(peer, "records")
        assert code == 0
        assert parse_header(fetched(peer, "records", end - 2)).record_count == 2


# ---------------------------------------------------------------------------- bombs


def gzip_bomb() -> bytes:
    engine = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(engine.compress(bytes(1 << 20)) for _ in range(800)) + engine.flush()


def lz4_bomb() -> bytes:
    return bytes(cramjam.lz4.compress(bytes(200 << 20), level=9))[: 1 << 20]


def zstd_bomb() -> bytes:
    piece = compression.compress(compression.ZSTD, bytes(64 << 20))
    return piece * 40  # frames follow each other: 2.5 GB


def many_records(codec: int) -> bytes:
    """Twenty million records of seven bytes."""
    record = b"\x0c\0\0\0\1\1\0"
    return compression.compress(codec, record * 20_000_000, 1)


BOMBS: dict[str, tuple[int, Callable[[], bytes], int]] = {
    "gzip": (compression.GZIP, gzip_bomb, 1),
    "lz4": (compression.LZ4, lz4_bomb, 1),
    "zstd": (compression.ZSTD, zstd_bomb, 1),
    "records": (compression.ZSTD, lambda: many_records(compression.ZSTD), 20_000_000),
}


@pytest.mark.usefixtures("topics")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_for_little_memory_and_time(
    peer: RawConnection, watched: BrokerProcess, name: str
) -> None:
    codec, payload, count = BOMBS[name]
    data = payload()
    assert len(data) < 1_000_000
    bomb = sealed(data, attributes=codec, record_count=count, last_offset_delta=count - 1)
    for topic in ("compact", "old", "lz4", "stamped"):
        if codec == {"lz4": compression.LZ4, "stamped": compression.GZIP}.get(topic):
            continue  # stored as it came
        forget_peak(watched.pid)
        before = peak_resident_bytes(watched.pid)
        used = cpu_seconds(watched.pid)
        code = produce_error(peer, topic, bomb)
        assert code != NONE, topic
        assert peak_resident_bytes(watched.pid) - before < 200 << 20, topic
        assert cpu_seconds(watched.pid) - used < 3.0, topic
    if produce_error(peer, "records", bomb) == NONE:
        forget_peak(watched.pid)
        end_offset(peer, "records", timestamp=1)
        end_offset(peer, "records", timestamp=-3)
        assert peak_resident_bytes(watched.pid) < 500 << 20


def test_the_lies_are_what_they_say() -> None:
    """The helper makes batches that only lie where they are told to."""
    plain = sealed()
    assert plain == GOOD
    assert isinstance(parse_header(plain), BatchHeader)
    assert crc32c(plain[CRC_START:]) == parse_header(plain).crc
