"""Reads that never wait for the disk: what is not in the page cache is read by a thread first."""

from __future__ import annotations

import errno
import os
from typing import Final

from mainstem.heads.session import FileSlice

_NOWAIT: Final = os.RWF_NOWAIT
_PROBE_STRIDE_BYTES: Final = 128 * 1024  # the kernel reads ahead in windows of this size
_WARM_CHUNK_BYTES: Final = 256 * 1024
_NOT_SUPPORTED: Final = (errno.EOPNOTSUPP, errno.EINVAL)


class ShortFile(OSError):
    """The file ends before the slice does."""


def read_if_cached(file_slice: FileSlice) -> bytes | None:
    """The slice's bytes, or None when reading them would wait for the disk."""
    try:
        fd = file_slice.file.fileno()
    except OSError:
        return _whole(file_slice, file_slice.read())  # no descriptor: a simulated file, in memory
    length = file_slice.length
    data = bytearray(length)
    try:
        count = os.preadv(fd, (data,), file_slice.position, _NOWAIT)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
        return _whole(file_slice, file_slice.read())
    if count == length:
        return bytes(data)
    return None  # partly cached, or short: the thread finds out


def read_waiting(file_slice: FileSlice) -> bytes:
    """The slice's bytes; for a thread."""
    return _whole(file_slice, file_slice.read())


def is_cached(fd: int, position: int, length: int) -> bool:
    """Whether sending the range would not wait for the disk, as far as samples tell."""
    probe = bytearray(1)
    last = position + length - 1
    try:
        for sample in range(position, last, _PROBE_STRIDE_BYTES):
            if os.preadv(fd, (probe,), sample, _NOWAIT) == 0:
                return True  # beyond the end: the sender will meet it
        os.preadv(fd, (probe,), last, _NOWAIT)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NOT_SUPPORTED:
            raise
    return True


def warm(fd: int, position: int, length: int) -> None:
    """Brings the range into the page cache; for a thread."""
    scratch = bytearray(min(length, _WARM_CHUNK_BYTES))
    end = position + length
    while position < end:
        count = os.preadv(fd, (scratch,), position)
        if count == 0:
            return
        position += count


def _whole(file_slice: FileSlice, data: bytes) -> bytes:
    if len(data) != file_slice.length:
        raise ShortFile(f"{len(data)} of {file_slice.length} bytes at {file_slice.position}")
    return data
