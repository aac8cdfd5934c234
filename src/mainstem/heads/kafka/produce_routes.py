"""What is the same in every request of a producer to one partition, read once.

A producer sends to a partition again and again, and of its requests everything in front of the batches is
then the same, byte for byte: acks, time-out, topic, partition. Those bytes are the key of a *route*, which
holds what they mean and what of the answer is known beforehand. A connection remembers how long the key of
its last request was; for another partition of the topic it is as long.

So the common request, of one partition, costs one slice, one look-up and the size of its batches. All
others are read by `produce_envelope`, from whose result a new route is made.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from mainstem.core.broker import ProduceEntry
from mainstem.core.partition import ProduceResult
from mainstem.heads.kafka.produce_envelope import (
    FIRST_FLEXIBLE,
    FIRST_WITH_LOG_START,
    ProduceEnvelope,
    TopicRun,
    pack_response,
)
from mainstem.model.batch import Buffer
from mainstem.model.ids import TopicId
from mainstem.wire.primitives import read_uvarint

FIRST_ROUTED: Final = FIRST_WITH_LOG_START
MOST_ROUTES: Final = 20_000  # then all are forgotten; those in use come back with their next request

_CLASSIC_KEY_BYTES: Final = 2 + 6 + 4 + 4 + 4  # and the topic: null id, acks and time-out, 1, topic, 1, index
_FLEXIBLE_KEY_BYTES: Final = 1 + 6 + 1 + 1 + 4
_TAGS: Final = b"\0\0\0"  # none behind the partition, none behind the topic, none behind the request
_I32 = struct.Struct(">i")
_FRAME = struct.Struct(">ii")
_OFFSETS = struct.Struct(">qqq")  # base offset, append time, log start


class ProduceRoute(NamedTuple):
    acks: int
    timeout_ms: int
    entry: ProduceEntry  # without batches
    topic: TopicRun
    answer_bytes: int  # its size field
    answer_head: bytes  # from behind the correlation id to the offsets
    answer_tail: bytes

    @property
    def topic_id(self) -> TopicId:
        return TopicId(self.topic.wire_name)

    def envelope(self) -> ProduceEnvelope:
        return ProduceEnvelope(None, self.acks, self.timeout_ms, [self.entry], [self.topic])

    def pack_answer(self, correlation_id: int, result: ProduceResult) -> bytes:
        """The answer to a request whose batches were taken."""
        _, _, _, _, size, head, tail = self
        offsets = _OFFSETS.pack(result[0], result[1], result[2])
        return b"".join((_FRAME.pack(size, correlation_id), head, offsets, tail))


class ProduceRoutes:
    """By version and key."""

    __slots__ = ("_count", "_routes")

    def __init__(self, max_version: int) -> None:
        self._routes: list[dict[Buffer, ProduceRoute]] = [{} for _ in range(max_version + 1)]
        self._count = 0

    def match(
        self, data: Buffer, position: int, end: int, version: int, key_bytes: int
    ) -> tuple[ProduceRoute, memoryview] | None:
        """The route of a request and its batches; None where the request must be read in full."""
        start = position + key_bytes
        route = self._routes[version].get(bytes(data[position:start]))
        if route is None:
            return None
        if version < FIRST_FLEXIBLE:
            start += 4
            if start > end or start + _I32.unpack_from(data, start - 4)[0] != end:
                return None
            return route, memoryview(data)[start:end]
        size, start = read_uvarint(data, start)
        stop = start + size - 1
        if size == 0 or stop + 3 != end or data[stop:end] != _TAGS:
            return None
        return route, memoryview(data)[start:stop]

    def learn(self, data: Buffer, position: int, end: int, version: int, envelope: ProduceEnvelope) -> int:
        """Makes a route for requests like this one, which was read in full; the length of their key.

        Only for a request that is served, and has one partition. 0: it has a form of its own, and no route.
        """
        wire_name = envelope.topics[0].wire_name
        key_bytes = (_FLEXIBLE_KEY_BYTES if version >= FIRST_FLEXIBLE else _CLASSIC_KEY_BYTES) + len(
            wire_name
        )
        key = bytes(data[position : position + key_bytes])
        if self._count >= MOST_ROUTES:
            self._count = 0
            for routes in self._routes:
                routes.clear()
        self._routes[version][key] = _route(version, envelope)
        matched = self.match(data, position, end, version, key_bytes)
        entry = envelope.entries[0]
        if matched is None or entry.records is None or len(matched[1]) != len(entry.records):
            del self._routes[version][key]  # lengths written longer than they need be, or bytes at the end
            return 0
        self._count += 1
        return key_bytes


def _route(version: int, envelope: ProduceEnvelope) -> ProduceRoute:
    sample = pack_response(version, 0, envelope, [ProduceResult(-1, -1, -1)])
    head_end = sample.index(_OFFSETS.pack(-1, -1, -1))
    return ProduceRoute(
        envelope.acks,
        envelope.timeout_ms,
        envelope.entries[0]._replace(records=None),
        envelope.topics[0],
        len(sample) - 4,
        sample[_FRAME.size : head_end],
        sample[head_end + _OFFSETS.size :],
    )
