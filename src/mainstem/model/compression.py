"""The four compression codecs of Kafka, bounded against bombs.

Every `decompress` takes the largest result it may produce and stops there: a few kilobytes that claim
to be gigabytes cost a few kilobytes. The libraries are imported on first use, because most brokers
never decode a batch.

What is particular about each, on the wire:

- gzip: one or more gzip members.
- snappy: blocks in the frame of the Java library ("xerial"): a magic of 8 bytes, two versions of 4,
  then blocks, each a length of 4 bytes and raw snappy. A lone raw block is read as well.
- lz4: the standard frame with independent blocks; Java refuses blocks that lean on earlier ones.
- zstd: a standard frame.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from functools import cache
from struct import Struct
from typing import Any, Final

from mainstem.model.batch import Buffer
from mainstem.model.errors import MalformedRecords, UnknownCodec

NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4

CODEC_NAMES: Final = ("none", "gzip", "snappy", "lz4", "zstd")  # index = codec id

DEFAULT_GZIP_LEVEL: Final = -1
DEFAULT_LZ4_LEVEL: Final = 9
DEFAULT_ZSTD_LEVEL: Final = 3

# No input of these codecs grows by more than this factor; twice what their formats allow.
MAX_EXPANSION: Final = (1, 2_100, 64, 520, 88_000)

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_XERIAL_BLOCK_BYTES: Final = 32 * 1024
_INT32: Final = Struct(">i")

_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_LZ4_BLOCK_BYTES: Final = {4: 64 << 10, 5: 256 << 10, 6: 1 << 20, 7: 4 << 20}
_LZ4_SIZE: Final = Struct("<I")


def codec_id(name: str) -> int:
    try:
        return CODEC_NAMES.index(name)
    except ValueError:
        raise UnknownCodec(f"there is no codec named {name!r}") from None


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    try:
        function = _COMPRESSORS[codec]
    except (IndexError, TypeError):
        raise UnknownCodec(f"there is no codec {codec}") from None
    return function(data, level)


def decompress(codec: int, data: Buffer, max_bytes: int) -> bytes:
    """The plain bytes; `MalformedRecords` when they are damaged or more than `max_bytes`."""
    if not 0 <= codec < len(_DECOMPRESSORS):
        raise UnknownCodec(f"there is no codec {codec}")
    return _DECOMPRESSORS[codec](data, max_bytes)


def _too_large(codec: int, max_bytes: int) -> MalformedRecords:
    return MalformedRecords(f"{CODEC_NAMES[codec]} data grows beyond the {max_bytes} bytes allowed")


def _damaged(codec: int, error: object) -> MalformedRecords:
    return MalformedRecords(f"damaged {CODEC_NAMES[codec]} data: {error}")


@cache
def _cramjam() -> Any:
    import cramjam

    return cramjam


@cache
def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def _compress_none(data: Buffer, _level: int | None) -> bytes:
    return bytes(data)


def _decompress_none(data: Buffer, max_bytes: int) -> bytes:
    if len(data) > max_bytes:
        raise _too_large(NONE, max_bytes)
    return bytes(data)


def _compress_gzip(data: Buffer, level: int | None) -> bytes:
    engine = zlib.compressobj(DEFAULT_GZIP_LEVEL if level is None else level, zlib.DEFLATED, 31)
    return engine.compress(data) + engine.flush()


def _decompress_gzip(data: Buffer, max_bytes: int) -> bytes:
    rest: Buffer = data
    room = max_bytes
    parts: list[bytes] = []
    try:
        while rest:
            engine = zlib.decompressobj(31)
            part = engine.decompress(rest, room + 1)
            if len(part) > room:
                raise _too_large(GZIP, max_bytes)
            if not engine.eof:
                raise _damaged(GZIP, "it ends too early")
            parts.append(part)
            room -= len(part)
            rest = engine.unused_data
    except zlib.error as error:
        raise _damaged(GZIP, error) from error
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _compress_snappy(data: Buffer, _level: int | None) -> bytes:
    snappy = _cramjam().snappy
    view = memoryview(data)
    parts = [_XERIAL_HEADER]
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(snappy.compress_raw(view[start : start + _XERIAL_BLOCK_BYTES]))
        parts += (_INT32.pack(len(block)), block)
    return b"".join(parts)


def _snappy_block(block: Buffer, room: int, max_bytes: int) -> bytes:
    cramjam = _cramjam()
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > room:
            raise _too_large(SNAPPY, max_bytes)
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise _damaged(SNAPPY, error) from error


def _decompress_snappy(data: Buffer, max_bytes: int) -> bytes:
    view = memoryview(data)
    if bytes(view[:8]) != _XERIAL_MAGIC:
        return _snappy_block(view, max_bytes, max_bytes)
    position = len(_XERIAL_HEADER)
    room = max_bytes
    parts: list[bytes] = []
    while position < len(view):
        if position + 4 > len(view):
            raise _damaged(SNAPPY, "it ends in the length of a block")
        (size,) = _INT32.unpack_from(view, position)
        position += 4
        if not 0 < size <= len(view) - position:
            raise _damaged(SNAPPY, f"a block claims {size} bytes")
        part = _snappy_block(view[position : position + size], room, max_bytes)
        parts.append(part)
        room -= len(part)
        position += size
    return b"".join(parts)


def _compress_lz4(data: Buffer, level: int | None) -> bytes:
    lz4 = _cramjam().lz4
    engine = lz4.Compressor(
        level=DEFAULT_LZ4_LEVEL if level is None else level, block_linked=False, content_checksum=False
    )
    engine.compress(data)
    return bytes(engine.finish())


def _lz4_plain_bound(view: memoryview) -> int:
    """The most that the frame can hold, from its block headers alone."""
    if len(view) < 7 or bytes(view[:4]) != _LZ4_MAGIC:
        raise _damaged(LZ4, "no frame header")
    flags = view[4]
    block_bytes = _LZ4_BLOCK_BYTES.get((view[5] >> 4) & 7)
    if block_bytes is None:
        raise _damaged(LZ4, "unknown block size")
    position = 7 + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)
    block_checksum_bytes = 4 if flags & 0x10 else 0
    bound = 0
    while position + 4 <= len(view):
        (word,) = _LZ4_SIZE.unpack_from(view, position)
        size = word & 0x7FFF_FFFF
        if size == 0:
            return bound
        bound += min(block_bytes, size if word >> 31 else size * 255)
        position += 4 + size + block_checksum_bytes
    raise _damaged(LZ4, "it ends without an end mark")


def _decompress_lz4(data: Buffer, max_bytes: int) -> bytes:
    cramjam = _cramjam()
    view = memoryview(data)
    bound = _lz4_plain_bound(view)
    out = bytearray(min(bound, max_bytes))
    try:
        size = cramjam.lz4.decompress_into(view, out)
    except cramjam.DecompressionError as error:
        if bound > max_bytes and "whole buffer" in str(error):
            raise _too_large(LZ4, max_bytes) from error
        raise _damaged(LZ4, error) from error
    return bytes(memoryview(out)[:size])


def _compress_zstd(data: Buffer, level: int | None) -> bytes:
    return bytes(_zstd().compress(data, level=DEFAULT_ZSTD_LEVEL if level is None else level))


def _decompress_zstd(data: Buffer, max_bytes: int) -> bytes:
    zstd = _zstd()
    rest: Buffer = data
    room = max_bytes
    parts: list[bytes] = []
    try:
        while rest:
            engine = zstd.ZstdDecompressor()
            part: bytes = engine.decompress(rest, room + 1)
            if len(part) > room:
                raise _too_large(ZSTD, max_bytes)
            if not engine.eof:
                raise _damaged(ZSTD, "it ends too early")
            parts.append(part)
            room -= len(part)
            rest = engine.unused_data
    except zstd.ZstdError as error:
        raise _damaged(ZSTD, error) from error
    return parts[0] if len(parts) == 1 else b"".join(parts)


_COMPRESSORS: Final[tuple[Callable[[Buffer, int | None], bytes], ...]] = (
    _compress_none,
    _compress_gzip,
    _compress_snappy,
    _compress_lz4,
    _compress_zstd,
)
_DECOMPRESSORS: Final[tuple[Callable[[Buffer, int], bytes], ...]] = (
    _decompress_none,
    _decompress_gzip,
    _decompress_snappy,
    _decompress_lz4,
    _decompress_zstd,
)
