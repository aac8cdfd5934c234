"""DescribeUserScramCredentials: which users can log in, by which mechanisms. Never with what."""

from __future__ import annotations

from collections import Counter
from typing import Final

from mainstem.core.identity.credentials import UserCredentials, mechanism_named
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.handler import Handler
from mainstem.wire.kafka.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)


async def handle(
    context: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    users = context.broker.image.users
    if request.users:
        counts = Counter(user.name for user in request.users)
        results = [_one(name, count, users.get(name)) for name, count in counts.items()]
    else:
        results = [_described(name, users[name]) for name in sorted(users)]
    return DescribeUserScramCredentialsResponse(error_message=None, results=results)


def _one(name: str, count: int, found: UserCredentials | None) -> DescribeUserScramCredentialsResult:
    if count > 1:
        return _refused(name, ErrorCode.DUPLICATE_RESOURCE, f"user {name!r} is named more than once")
    if found is None:
        return _refused(name, ErrorCode.RESOURCE_NOT_FOUND, f"there is no user {name!r} with a credential")
    return _described(name, found)


def _described(name: str, credentials: UserCredentials) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(
        user=name,
        error_message=None,
        credential_infos=[
            CredentialInfo(mechanism=mechanism_named(each).wire_type, iterations=credential.iterations)
            for each, credential in credentials.items()
        ],
    )


def _refused(name: str, code: ErrorCode, message: str) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(user=name, error_code=code, error_message=message)


def refuse(
    request: DescribeUserScramCredentialsRequest, code: ErrorCode, message: str
) -> DescribeUserScramCredentialsResponse:
    """To each user that was named: an error at the top beside named users crashes librdkafka."""
    if not request.users:
        return DescribeUserScramCredentialsResponse(error_code=code, error_message=message)
    return DescribeUserScramCredentialsResponse(
        error_message=None, results=[_refused(user.name, code, message) for user in request.users]
    )


HANDLER: Final = Handler(
    key=50,
    min_version=0,
    max_version=0,
    handle=handle,
    refuse=refuse,
    remarks="Who may not ask is told so beside each user that it named, and not at the top of the answer, "
    "where librdkafka crashes.",
)
