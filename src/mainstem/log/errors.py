"""The errors of the log, by who has to act."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Final

from mainstem.model.errors import DiskError, PeerError

# What a later attempt may not meet: no room, or too many open files or too little memory at this moment.
_PASSING: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
)


def is_passing(error: OSError) -> bool:
    """Whether the storage is as good as before, and only refused this one time."""
    return error.errno in _PASSING


class OffsetOutOfRange(PeerError):
    def __init__(self, offset: int, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(f"offset {offset} is outside {log_start_offset}..{log_end_offset}")
        self.offset = offset
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset


class CorruptBatch(PeerError):
    """The bytes are not a record batch: bad checksum, or lengths and counts that lie."""


class InvalidRecord(PeerError):
    """A well-formed batch that this topic must not take."""

    def __init__(self, message: str, record_errors: Sequence[tuple[int, str]] = ()) -> None:
        super().__init__(message)
        self.record_errors = record_errors  # number in the batch, and what is wrong with the record


class InvalidTimestamp(PeerError):
    pass


class BatchTooLarge(PeerError):
    pass


class UnsupportedBatchFormat(PeerError):
    """Not magic 2: the client is older than this broker serves."""


class UnsupportedCompression(PeerError):
    pass


class OutOfOrderSequence(PeerError):
    pass


class DuplicateSequence(PeerError):
    """A repeated batch so old that its offset is no longer known."""


class InvalidProducerEpoch(PeerError):
    pass


class UnknownProducer(PeerError):
    pass


class TransactionalIdRequired(PeerError):
    """A transactional batch came in a request that names no transactional id."""


class InvalidTransactionState(PeerError):
    """What is asked does not fit where the transaction stands."""


class TransactionCoordinatorFenced(PeerError):
    """A marker from a coordinator that another one has followed."""


class LogWriteFailed(DiskError):
    """The append did not happen; the log is as it was before."""

    def __init__(self, message: str, *, is_passing: bool = False) -> None:
        super().__init__(message)
        self.is_passing = is_passing  # out of space or descriptors: writes may succeed again later


class LogReadFailed(DiskError):
    """The disk refused a read; what the log holds is unknown."""

    def __init__(self, message: str, *, is_passing: bool = False) -> None:
        super().__init__(message)
        self.is_passing = is_passing


class LogClosed(DiskError):
    """The log was closed or deleted while somebody still held it."""

    is_passing = True  # nothing is wrong with the disk


class LogDirectoryFailed(DiskError):
    """The whole directory is offline."""


class LogCorrupt(DiskError):
    """What is on disk cannot be read, and recovery could not mend it."""
