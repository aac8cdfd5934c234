"""The errors of identity, by who has to act."""

from __future__ import annotations

from mainstem.model.errors import BrokerError, PeerError


class InvalidMappingRules(PeerError):
    """The rules from certificates to users cannot be read."""


class CertificateNotMapped(PeerError):
    """A client's certificate leads to no user."""


class LoginFailed(PeerError):
    """The client is not who it says, or says it wrong. What it is told must not say which."""


class UnknownUser(PeerError):
    """There is no such user, or it has no credential of that kind."""


class DuplicateUser(PeerError):
    """One request names a user, or a credential of one, twice."""


class UnacceptableCredential(PeerError):
    """A credential that is too weak, or that is none."""


class UnknownMechanism(PeerError):
    """A way to log in that is not served."""


class KeysUnavailable(BrokerError):
    """The keys that tokens are checked with cannot be had."""
