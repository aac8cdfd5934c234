"""What can be wrong with bytes or messages at the wire."""

from __future__ import annotations

from mainstem.model.errors import PeerError


class WireError(PeerError):
    """The bytes are not the message that they claim to be, or the message has no such bytes."""


class TruncatedMessage(WireError):
    """The bytes end before the message does."""


class InvalidMessage(WireError):
    """A value that the schema does not allow at this version."""


class UnsupportedVersion(WireError):
    """The schema does not list this version of the message."""
