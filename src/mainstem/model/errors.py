"""The error families.

Who has to act decides the family, and with it what a head answers and what the log says:

- `PeerError`: the client asked for something that cannot be. It gets a protocol error with the cure
  in its message; the broker logs it at debug level and goes on.
- `BrokerError`: we are at fault, or cannot serve right now. It is logged as a warning or an error.
- `DiskError`: the storage refused. The partitions of that directory are affected and no others.

Each room declares its errors once, in its own `errors.py`, as subclasses of these. Each head maps
them to wire codes in one table.
"""

from __future__ import annotations

from typing import Self


class MainstemError(Exception):
    """The root of every error that this project raises on purpose."""


class PeerError(MainstemError):
    """The request is at fault."""

    def without_trace(self) -> Self:
        """For an error that is kept with its request: where it was raised is of no interest to anybody, and
        would keep alive what was in work there, the request's bytes among it, until a garbage collection."""
        self.__cause__ = self.__context__ = None
        return self.with_traceback(None)


class BrokerError(MainstemError):
    """The broker is at fault, or not able to serve at this moment."""


class DiskError(MainstemError):
    """The storage below us is at fault."""

    is_passing = False  # it may be over by itself: room comes back, the medium does not


class MalformedRecords(PeerError):
    """The records inside a batch cannot be read: lengths or counts that lie, or a broken codec stream."""


class UnknownCodec(PeerError):
    """The attributes name a compression codec that does not exist."""
