"""Every message in every version: there and back, byte for byte as kio has it, and safe from bad bytes."""

from __future__ import annotations

import io
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.serial import entity_reader, entity_writer
from tests.property.wire_support import (
    message_classes,
    oracle_class,
    random_message,
    record_classes,
    smallest_message,
    to_oracle,
    versions_of,
)

from mainstem.wire.errors import TruncatedMessage, WireError
from mainstem.wire.kafka.apis import APIS
from mainstem.wire.kafka.codec import decode, encode
from mainstem.wire.kafka.extensions.api_table import FIRST_OWN_KEY
from mainstem.wire.kafka.message import Message

MESSAGES = message_classes()
RECORDS = record_classes()
OF_KAFKA = [cls for cls in MESSAGES if cls.SCHEMA.key < FIRST_OWN_KEY]
CLASSES_AND_VERSIONS = [(cls, version) for cls in MESSAGES + RECORDS for version in versions_of(cls)]


def name_of(cls: type[Message]) -> str:
    return cls.__name__


@pytest.mark.parametrize("cls", MESSAGES + RECORDS, ids=name_of)
def test_round_trip(cls: type[Message]) -> None:
    rng = Random(name_of(cls))
    for version in versions_of(cls):
        for _ in range(4):
            message = random_message(cls, version, rng)
            data = encode(message, version)
            assert decode(cls, version, data) == (message, len(data))
            shifted = memoryview(b"\xff" * 3 + data + b"\xff")
            assert decode(cls, version, shifted, 3) == (message, len(data) + 3)


@pytest.mark.parametrize("cls", OF_KAFKA, ids=name_of)
def test_agrees_with_kio(cls: type[Message]) -> None:
    rng = Random(name_of(cls))
    api = APIS[cls.SCHEMA.key]
    for version in range(api.min_version, api.max_version + 1):
        entity = oracle_class(cls, version)
        write: Any = entity_writer(entity)
        read: Any = entity_reader(entity)
        for _ in range(4):
            message = random_message(cls, version, rng, entity)
            twin = to_oracle(message, entity)
            sink = io.BytesIO()
            write(sink, twin)
            data = encode(message, version)
            assert data == sink.getvalue(), (version, message)
            assert read(data, 0) == (twin, len(data))
            assert decode(cls, version, sink.getvalue()) == (message, len(data))


@pytest.mark.parametrize("cls", MESSAGES + RECORDS, ids=name_of)
def test_a_count_of_the_smallest_elements_is_believed(cls: type[Message]) -> None:
    for version in versions_of(cls):
        for depth in range(4):
            message = smallest_message(cls, version, depth)
            data = encode(message, version)
            assert decode(cls, version, data) == (message, len(data))


@pytest.mark.parametrize("cls", MESSAGES + RECORDS, ids=name_of)
def test_every_truncation_is_noticed(cls: type[Message]) -> None:
    rng = Random(name_of(cls))
    for version in versions_of(cls):
        data = encode(random_message(cls, version, rng), version)
        for end in {rng.randrange(len(data)) for _ in range(8)} if data else ():
            with pytest.raises(TruncatedMessage):
                decode(cls, version, data[:end])


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(CLASSES_AND_VERSIONS),
    st.integers(0, 1 << 32),
    st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=6),
)
def test_damaged_bytes_give_a_message_or_a_wire_error(
    target: tuple[type[Message], int], seed: int, damage: list[tuple[int, int]]
) -> None:
    cls, version = target
    data = bytearray(encode(random_message(cls, version, Random(seed)), version))
    for place, value in damage:
        if data:
            data[place % len(data)] = value
    try:
        message, end = decode(cls, version, bytes(data))
    except WireError:
        return
    assert isinstance(message, cls)
    assert end <= len(data)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(CLASSES_AND_VERSIONS), st.binary(max_size=200))
def test_arbitrary_bytes_give_a_message_or_a_wire_error(
    target: tuple[type[Message], int], data: bytes
) -> None:
    cls, version = target
    try:
        message, end = decode(cls, version, data)
    except WireError:
        return
    assert isinstance(message, cls)
    assert end <= len(data)
