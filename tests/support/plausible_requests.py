"""Requests of every API and version that a client might send, drawn from a seed, and ways to spoil them."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

from tests.support.raw_kafka import batch, framed, header

from mainstem.heads.kafka import fetch, produce
from mainstem.heads.kafka.api_list import COLD_APIS
from mainstem.heads.kafka.apis import api_versions
from mainstem.wire.kafka.apis import request_class
from mainstem.wire.kafka.codec import encode
from mainstem.wire.kafka.message import Field, Message, version_range

SERVED: tuple[tuple[int, int, int], ...] = (
    (produce.KEY, 3, produce.MAX_VERSION),
    (fetch.KEY, fetch.MIN_VERSION, fetch.MAX_VERSION),
    (api_versions.KEY, api_versions.MIN_VERSION, api_versions.MAX_VERSION),
    *((api.key, api.min_version, api.max_version) for api in COLD_APIS),
)

_INTERESTING_BYTES = (0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF)
_INTERESTING_INTEGERS = (0, 1, -1, -2, 127, 32_767, 100_000, 2**31 - 1, -(2**31))
_SMALL = 50  # milliseconds, bytes, counts: nothing that makes the broker wait for long


class Plausible:
    """`topic` exists; groups and members are made up, and some of them meet again."""

    def __init__(self, rng: Random, topic: str, topic_id: bytes) -> None:
        self._rng = rng
        self._topic = topic
        self._topic_id = topic_id

    def request(self, key: int, version: int) -> bytes:
        """A whole frame."""
        message = self.message(request_class(key), version)
        return framed(header(key, version, self._rng.randrange(1 << 31)) + encode(message, version))

    def message(self, cls: type[Message], version: int) -> Any:
        values = {}
        for field in cls.SCHEMA.fields:
            low, high = version_range(field.versions)
            if low <= version <= high:
                values[field.name] = self._value(field, version)
        return cls(**values)

    def _value(self, field: Field, version: int) -> Any:
        low, high = version_range(field.nullable)
        if low <= version <= high and self._rng.random() < 0.2:
            return None
        if not field.kind.startswith("[]"):
            return self._scalar(field.kind, field, version)
        return [
            self._scalar(field.kind[2:], field, version) for _ in range(self._rng.choice((0, 1, 1, 2, 3)))
        ]

    def _scalar(self, kind: str, field: Field, version: int) -> Any:
        rng = self._rng
        if kind == "struct":
            assert field.of is not None
            return self.message(field.of, version)
        if kind == "string":
            if "topic" in field.name or field.name == "name":
                return rng.choice((self._topic, "nobody", ""))
            if "transactional" in field.name:
                low, high = version_range(field.nullable)
                return None if low <= version <= high and rng.random() < 0.7 else f"t{rng.randrange(3)}"
            return rng.choice(("", "a", "range", "consumer", f"group{rng.randrange(3)}", "bytes\u00e9"))
        if kind == "uuid":
            return rng.choice((self._topic_id, bytes(16), rng.randbytes(16)))
        if kind == "records":
            return batch(b"fuzz", codec=rng.randrange(5))
        if kind == "bytes":
            return rng.randbytes(rng.choice((0, 4, 40)))
        if kind == "bool":
            return rng.random() < 0.5
        if kind == "float64":
            return rng.random()
        if field.name == "acks":
            return rng.choice((-1, 0, 1, 1, 2))
        if field.name.endswith(("_ms", "_bytes")):
            return rng.randrange(_SMALL)
        return rng.choice((0, 0, 1, 2, -1, rng.randrange(100)))


def spoiled(frame: bytes, rng: Random) -> bytes:
    """The frame with a few changes; its size is mostly right again."""
    content = bytearray(frame[4:])
    for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
        at = rng.randrange(4 if rng.random() < 0.95 else 0, max(5, len(content)))
        match rng.randrange(7):
            case 0:
                content[at : at + 1] = bytes((rng.choice(_INTERESTING_BYTES),))
            case 1:
                content[at : at + 1] = bytes((rng.randrange(256),))
            case 2:
                content[at:at] = rng.randbytes(rng.choice((1, 2, 4, 30)))
            case 3:
                del content[at : at + rng.choice((1, 2, 4, 30))]
            case 4:
                content[at : at + 4] = struct.pack(">i", rng.choice(_INTERESTING_INTEGERS))
            case 5:
                content[at : at + 5] = b"\xff\xff\xff\xff\x0f"
            case _:
                del content[max(at, 8) :]
    size = (
        len(content) if rng.random() < 0.97 else rng.choice((0, len(content) + 3, max(0, len(content) - 3)))
    )
    return struct.pack(">i", size) + bytes(content)
