"""How the admin interface says no: `{"error": {"code", "message", "cure"}}` and a status.

One table from the core's errors to statuses. The code is the error's class name in small letters, so that
a program has something firmer to hold on to than a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from mainstem.core import errors as core
from mainstem.model.errors import BrokerError, DiskError, MainstemError, PeerError

BAD_REQUEST: Final = 400
UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
METHOD_NOT_ALLOWED: Final = 405
CONFLICT: Final = 409
TOO_LARGE: Final = 413
UNSUPPORTED_MEDIA_TYPE: Final = 415
INTERNAL: Final = 500
UNAVAILABLE: Final = 503


class ErrorBody(msgspec.Struct, frozen=True):
    code: str
    message: str
    cure: str


class ErrorAnswer(msgspec.Struct, frozen=True):
    error: ErrorBody


class Refusal(Exception):
    """An answer other than the one asked for."""

    def __init__(self, status: int, code: str, message: str, cure: str) -> None:
        super().__init__(message)
        self.status = status
        self.answer = ErrorAnswer(ErrorBody(code, message, cure))


_SEE_LOG: Final = "See the broker's log."
_TRY_AGAIN: Final = "Try again in a moment."

_TABLE: Final[Mapping[type[Exception], tuple[int, str]]] = MappingProxyType(
    {
        core.UnknownTopicOrPartition: (NOT_FOUND, "GET /v1/topics lists the topics."),
        core.UnknownTopicId: (NOT_FOUND, "GET /v1/topics lists the topics."),
        core.TopicAlreadyExists: (CONFLICT, "Choose another name, or delete the topic first."),
        core.TopicDeletionDisabled: (CONFLICT, "Start the broker with delete.topic.enable=true."),
        core.InvalidTopicName: (BAD_REQUEST, "Use up to 249 letters, digits, dots, dashes and underscores."),
        core.InvalidPartitionCount: (BAD_REQUEST, "Ask for at least one partition, and for fewer at a time."),
        core.InvalidReplicationFactor: (
            BAD_REQUEST,
            "Ask for at most as many replicas as there are brokers.",
        ),
        core.InvalidConfig: (BAD_REQUEST, "`mainstem config explain NAME` tells what an option takes."),
        core.GroupIdNotFound: (NOT_FOUND, "GET /v1/groups lists the groups."),
        core.InvalidGroupId: (BAD_REQUEST, "Name the group."),
        core.NonEmptyGroup: (CONFLICT, "Stop its consumers first."),
        core.TransactionalIdNotFound: (NOT_FOUND, "GET /v1/transactions lists the transactional ids."),
        core.InvalidTransactionState: (CONFLICT, "GET /v1/transactions/ID tells the state that it is in."),
        core.CoordinatorLoadInProgress: (UNAVAILABLE, _TRY_AGAIN),
        core.CoordinatorNotAvailable: (UNAVAILABLE, _TRY_AGAIN),
        core.NotCoordinator: (NOT_FOUND, "There was never such a one here, or another node coordinates it."),
        core.NotController: (UNAVAILABLE, "Ask the node that /v1/broker names as controller."),
        core.MetadataNotAvailable: (UNAVAILABLE, _TRY_AGAIN),
        PeerError: (BAD_REQUEST, "/openapi.json describes every request."),
        DiskError: (UNAVAILABLE, "Look at /v1/log-dirs and the broker's log."),
        BrokerError: (UNAVAILABLE, _TRY_AGAIN),
    }
)


def refusal_of(error: Exception) -> Refusal:
    """By the error's class, or else by the nearest class above it."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, MainstemError):
        for kind in type(error).__mro__:
            if kind in _TABLE:
                status, cure = _TABLE[kind]
                return Refusal(status, _code_of(type(error)), str(error) or type(error).__name__, cure)
    return Refusal(INTERNAL, "internal_error", "The broker failed to answer.", _SEE_LOG)


def _code_of(kind: type[Exception]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
