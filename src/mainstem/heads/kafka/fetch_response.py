"""The frame of a fetch response, packed around the records, by hand; see `fetch_envelope`."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Final, NamedTuple

from mainstem.core.partition import READ_COMMITTED, FetchResult
from mainstem.heads.kafka.endpoints import NodeAddress
from mainstem.heads.kafka.fetch_envelope import (
    FIRST_FLEXIBLE,
    FIRST_WITH_HINTS,
    FIRST_WITH_SESSIONS,
    NO_SESSION,
)
from mainstem.heads.kafka.fetch_session import Told
from mainstem.heads.kafka.leader_hints import LeaderHint, current_leader_field, node_endpoints_field
from mainstem.heads.session import Part
from mainstem.wire.primitives import uvarint

_FIRST_WITH_LOG_START: Final = 5
_FIRST_WITH_PREFERRED: Final = 11
_LEADER_TAG: Final = 1
_NO_PREFERRED: Final = -1
# Nobody looks for aborted transactions below read_committed: null there, and a list, mostly empty, else.
_NULL: Final = -1
_EMPTY: Final = 0
_ABORTED: Final = struct.Struct(">qq")  # producer id, first offset

_WIRE_NAME = itemgetter(0)  # of what is told
_FRAME = struct.Struct(">ii")  # size, correlation id
_TOP_4 = struct.Struct(">i")  # throttle time
_TOP_7 = struct.Struct(">ihi")  # throttle time, error, session id
_I32 = struct.Struct(">i")
_PARTITION_4 = struct.Struct(">ihqqii")  # index, error, high watermark, last stable, aborted, size
_PARTITION_5 = struct.Struct(">ihqqqii")  # with log start
_PARTITION_11 = struct.Struct(">ihqqqiii")  # with preferred replica
_PARTITION_4_HEAD = struct.Struct(">ihqq")  # index, error, high watermark, last stable
_PARTITION_12_HEAD = struct.Struct(">ihqqq")  # with log start
_PARTITION_12 = struct.Struct(">ihqqqBi")  # the same, compact; the size follows


class Refusal(NamedTuple):
    code: int
    leader: LeaderHint | None = None


_NO_REFUSALS: Final[Mapping[int, Refusal]] = MappingProxyType({})
_TAKEN: Final = Refusal(0)


def pack_response(
    version: int,
    correlation_id: int,
    session_id: int,
    told: Sequence[Told],
    isolation: int,
    refusals: Mapping[int, Refusal] = _NO_REFUSALS,
    nodes: Sequence[NodeAddress] = (),
) -> list[Part]:
    """The frame, in bytes and slices of files.

    `refusals` are by the place in `told`, `nodes` the addresses of the leaders that they name.
    """
    is_flexible = version >= FIRST_FLEXIBLE
    pack_partition = _partition_packer(version)
    none_aborted = _EMPTY if isolation == READ_COMMITTED else _NULL
    topics = [(name, list(group)) for name, group in groupby(told, key=_WIRE_NAME)]
    parts: list[Part] = []
    run = [_top(version, 0, session_id), _array(len(topics), is_flexible)]
    size = place = 0
    tags = b"\0" if is_flexible else b""
    for wire_name, partitions in topics:
        run += (wire_name, _array(len(partitions), is_flexible))
        for _, entry, result in partitions:
            refusal = refusals.get(place, _TAKEN) if refusals else _TAKEN
            place += 1
            records = result[4]
            if records is None:
                run.append(pack_partition(entry[1], refusal[0], result, none_aborted, 0))
            else:
                if result[5]:
                    run.append(_pack_with_aborted(version, entry[1], result, records.length))
                else:
                    run.append(pack_partition(entry[1], refusal[0], result, none_aborted, records.length))
                joined = b"".join(run)
                size += len(joined) + records.length
                parts += (joined, records)
                run = []
            run.append(tags if refusal[1] is None else _hint(version, refusal[1], tags))
        run.append(tags)
    if is_flexible:
        run.append(node_endpoints_field(nodes))
    joined = b"".join(run)
    parts.append(joined)
    frame = _FRAME.pack(size + len(joined) + 4, correlation_id)
    if len(parts) == 1:
        return [frame + joined]
    return [frame, *parts]


def pack_empty(
    version: int,
    correlation_id: int,
    session_id: int = NO_SESSION,
    *,
    error_code: int = 0,
    throttle_ms: int = 0,
) -> bytes:
    """No partition: the refusal of a session, or what a client over its quota is told."""
    is_flexible = version >= FIRST_FLEXIBLE
    body = (
        _top(version, error_code, session_id, throttle_ms)
        + _array(0, is_flexible)
        + (b"\0" if is_flexible else b"")
    )
    return _FRAME.pack(len(body) + 4, correlation_id) + body


def _top(version: int, error_code: int, session_id: int, throttle_ms: int = 0) -> bytes:
    if version >= FIRST_FLEXIBLE:
        return b"\0" + _TOP_7.pack(throttle_ms, error_code, session_id)
    if version >= FIRST_WITH_SESSIONS:
        return _TOP_7.pack(throttle_ms, error_code, session_id)
    return _TOP_4.pack(throttle_ms)


def _array(count: int, is_flexible: bool) -> bytes:
    return uvarint(count + 1) if is_flexible else _I32.pack(count)


# Everything of a partition in front of its records, their size included: index, error, result, aborted, size.
_PartitionPacker = Callable[[int, int, FetchResult, int, int], bytes]


def _partition_packer(version: int) -> _PartitionPacker:
    if version >= FIRST_FLEXIBLE:
        return _pack_partition_12
    if version >= _FIRST_WITH_PREFERRED:
        return _pack_partition_11
    return _pack_partition_5 if version >= _FIRST_WITH_LOG_START else _pack_partition_4


def _pack_partition_12(index: int, code: int, result: FetchResult, aborted: int, size: int) -> bytes:
    _, watermark, stable, start, _, _ = result
    head = _PARTITION_12.pack(index, code, watermark, stable, start, aborted + 1, _NO_PREFERRED)
    return head + uvarint(size + 1)


def _pack_partition_11(index: int, code: int, result: FetchResult, aborted: int, size: int) -> bytes:
    _, watermark, stable, start, _, _ = result
    return _PARTITION_11.pack(index, code, watermark, stable, start, aborted, _NO_PREFERRED, size)


def _pack_partition_5(index: int, code: int, result: FetchResult, aborted: int, size: int) -> bytes:
    _, watermark, stable, start, _, _ = result
    return _PARTITION_5.pack(index, code, watermark, stable, start, aborted, size)


def _pack_partition_4(index: int, code: int, result: FetchResult, aborted: int, size: int) -> bytes:
    _, watermark, stable, _, _, _ = result
    return _PARTITION_4.pack(index, code, watermark, stable, aborted, size)


def _pack_with_aborted(version: int, index: int, result: FetchResult, size: int) -> bytes:
    """The same where some of the records are to be left out."""
    _, watermark, stable, start, _, aborted = result
    pairs = [_ABORTED.pack(each.producer_id, each.first_offset) for each in aborted]
    if version >= FIRST_FLEXIBLE:
        head = _PARTITION_12_HEAD.pack(index, 0, watermark, stable, start)
        listed = b"".join([pair + b"\0" for pair in pairs])
        tail = _I32.pack(_NO_PREFERRED) + uvarint(size + 1)
        return head + uvarint(len(pairs) + 1) + listed + tail
    count = _I32.pack(len(pairs))
    if version < _FIRST_WITH_LOG_START:
        head = _PARTITION_4_HEAD.pack(index, 0, watermark, stable)
    else:
        head = _PARTITION_12_HEAD.pack(index, 0, watermark, stable, start)
    preferred = _I32.pack(_NO_PREFERRED) if version >= _FIRST_WITH_PREFERRED else b""
    return b"".join((head, count, *pairs, preferred, _I32.pack(size)))


def _hint(version: int, leader: LeaderHint, tags: bytes) -> bytes:
    return current_leader_field(_LEADER_TAG, leader) if version >= FIRST_WITH_HINTS else tags
