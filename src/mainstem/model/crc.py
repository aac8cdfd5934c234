"""CRC-32C (Castagnoli), the checksum of a record batch."""

from __future__ import annotations

from fastcrc import crc32 as _crc32

from mainstem.model.batch import Buffer

_CHECK_INPUT = b"123456789"
_CHECK_VALUE = 0xE3069283  # from the CRC catalogue; a library that fails it would damage every log


def crc32c(buffer: Buffer, before: int = 0) -> int:
    """The checksum of `buffer`, going on from the checksum of what stands before it."""
    return int(_crc32.iscsi(buffer, before))


if crc32c(_CHECK_INPUT) != _CHECK_VALUE:
    raise ImportError("the installed fastcrc computes a wrong CRC-32C")
