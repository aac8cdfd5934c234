"""The control record that ends a producer's transaction in one partition.

    key      int16 version, int16 type: 0 abort, 1 commit
    value    int16 version, int32 epoch of the coordinator that decided

It stands alone in a batch that is transactional and a control batch, under the producer's id and the epoch
that the coordinator gives it, without a sequence. Control records of other types end nothing.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from mainstem.log.errors import InvalidRecord
from mainstem.model.batch import BatchHeader, Buffer
from mainstem.model.records import NewRecord, build_batch, decode_records

_KEY: Final = Struct(">hh")
_VALUE: Final = Struct(">hi")
_VERSION: Final = 0
_ABORT: Final = 0
_COMMIT: Final = 1
_MAX_BYTES: Final = 4096


class EndMarker(NamedTuple):
    is_commit: bool
    coordinator_epoch: int


def build_marker(producer_id: int, producer_epoch: int, marker: EndMarker, *, now_ms: int) -> bytes:
    key = _KEY.pack(_VERSION, _COMMIT if marker.is_commit else _ABORT)
    record = NewRecord(key, _VALUE.pack(_VERSION, marker.coordinator_epoch), timestamp_ms=now_ms)
    return build_batch(
        [record],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )


def decode_marker(header: BatchHeader, batch: Buffer) -> EndMarker | None:
    """None for control records of other kinds, and for a marker that compaction emptied.

    Nothing is left of the transaction of such a marker.
    """
    if header.record_count == 0:
        return None
    records = decode_records(batch, header=header, max_bytes=_MAX_BYTES)
    key, value = records[0].key, records[0].value
    if key is None or len(key) < _KEY.size:
        raise InvalidRecord("a control record without a type")
    kind = _KEY.unpack_from(key)[1]
    if kind not in (_ABORT, _COMMIT):
        return None
    if value is None or len(value) < _VALUE.size:
        raise InvalidRecord("a transaction marker without a coordinator epoch")
    return EndMarker(kind == _COMMIT, int(_VALUE.unpack_from(value)[1]))
