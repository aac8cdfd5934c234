"""The frame of a fetch response, packed around the records, by hand; see `fetch_envelope`."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

from mainstem.core.partition import READ_COMMITTED, FetchResult
from mainstem.heads.kafka.endpoints import NodeAddress
from mainstem.heads.kafka.fetch_envelope import (
    FIRST_FLEXIBLE,
    FIRST_WITH_HINTS,
    FIRST_WITH_SESSIONS,
    NO_SESSION,
)
from mainstem.heads.kafka.leader_hints import LeaderHint, current_leader_field, node_endpoints_field
from mainstem.heads.session import Part
from mainstem.wire.primitives import uvarint

_FIRST_WITH_LOG_START: Final = 5
_FIRST_WITH_PREFERRED: Final = 11
_LEADER_TAG: Final = 1
_NO_THROTTLE: Final = 0
_NO_PREFERRED: Final = -1
# Nobody looks for aborted transactions below read_committed: null there, and a list, so far empty, else.
_NULL: Final = -1
_EMPTY: Final = 0

_FRAME = struct.Struct(">ii")  # size, correlation id
_TOP_4 = struct.Struct(">i")  # throttle time
_TOP_7 = struct.Struct(">ihi")  # throttle time, error, session id
_I32 = struct.Struct(">i")
_PARTITION_4 = struct.Struct(">ihqqii")  # index, error, high watermark, last stable, aborted, size
_PARTITION_5 = struct.Struct(">ihqqqii")  # with log start
_PARTITION_11 = struct.Struct(">ihqqqiii")  # with preferred replica
_PARTITION_12 = struct.Struct(">ihqqqBi")  # the same, compact; the size follows


class AnsweredPartition(NamedTuple):
    wire_name: bytes
    partition: int
    result: FetchResult
    error_code: int = 0
    leader: LeaderHint | None = None


def pack_response(
    version: int,
    correlation_id: int,
    session_id: int,
    answered: Sequence[AnsweredPartition],
    isolation: int,
    nodes: Sequence[NodeAddress] = (),
) -> list[Part]:
    """The frame, in bytes and slices of files; `nodes` are the addresses of leaders that refusals name."""
    is_flexible = version >= FIRST_FLEXIBLE
    topics = [(name, list(group)) for name, group in groupby(answered, key=_wire_name)]
    parts: list[Part] = []
    run = [_top(version, 0, session_id), _array(len(topics), is_flexible)]
    size = 0
    for wire_name, partitions in topics:
        run += (wire_name, _array(len(partitions), is_flexible))
        for one in partitions:
            run.append(_partition_head(version, one, isolation))
            if one.result.records is not None:
                joined = b"".join(run)
                size += len(joined) + one.result.records.length
                parts += (joined, one.result.records)
                run = []
            if is_flexible:
                run.append(_partition_tags(version, one))
        if is_flexible:
            run.append(b"\0")
    if is_flexible:
        run.append(node_endpoints_field(nodes))
    joined = b"".join(run)
    parts.append(joined)
    frame = _FRAME.pack(size + len(joined) + 4, correlation_id)
    if len(parts) == 1:
        return [frame + joined]
    return [frame, *parts]


def pack_error(version: int, correlation_id: int, error_code: int) -> bytes:
    """The refusal of a session: no partition, no session."""
    is_flexible = version >= FIRST_FLEXIBLE
    body = _top(version, error_code, NO_SESSION) + _array(0, is_flexible) + (b"\0" if is_flexible else b"")
    return _FRAME.pack(len(body) + 4, correlation_id) + body


def _wire_name(one: AnsweredPartition) -> bytes:
    return one.wire_name


def _top(version: int, error_code: int, session_id: int) -> bytes:
    if version >= FIRST_FLEXIBLE:
        return b"\0" + _TOP_7.pack(_NO_THROTTLE, error_code, session_id)
    if version >= FIRST_WITH_SESSIONS:
        return _TOP_7.pack(_NO_THROTTLE, error_code, session_id)
    return _TOP_4.pack(_NO_THROTTLE)


def _array(count: int, is_flexible: bool) -> bytes:
    return uvarint(count + 1) if is_flexible else _I32.pack(count)


def _partition_head(version: int, one: AnsweredPartition, isolation: int) -> bytes:
    """Everything in front of the records, their size included."""
    _, index, (_, watermark, stable, start, records), code, _ = one
    size = 0 if records is None else records.length
    aborted = _EMPTY if isolation == READ_COMMITTED or code else _NULL
    if version >= FIRST_FLEXIBLE:
        head = _PARTITION_12.pack(index, code, watermark, stable, start, aborted + 1, _NO_PREFERRED)
        return head + uvarint(size + 1)
    if version >= _FIRST_WITH_PREFERRED:
        return _PARTITION_11.pack(index, code, watermark, stable, start, aborted, _NO_PREFERRED, size)
    if version >= _FIRST_WITH_LOG_START:
        return _PARTITION_5.pack(index, code, watermark, stable, start, aborted, size)
    return _PARTITION_4.pack(index, code, watermark, stable, aborted, size)


def _partition_tags(version: int, one: AnsweredPartition) -> bytes:
    if one.leader is None or version < FIRST_WITH_HINTS:
        return b"\0"
    return current_leader_field(_LEADER_TAG, one.leader)
