"""AlterUserScramCredentials: gives users credentials and takes them away.

The client salts the password; what comes is the salted one, of which two keys are kept. All changes of one
user are made together or not at all.
"""

from __future__ import annotations

from typing import Final

from mainstem.core.identity.credentials import (
    check_user_name,
    credential_from_salted,
    mechanism_of_type,
)
from mainstem.core.ports import CredentialChange
from mainstem.heads.kafka.codes import ErrorCode
from mainstem.heads.kafka.context import RequestContext
from mainstem.heads.kafka.errors import error_code, error_message
from mainstem.heads.kafka.handler import Handler
from mainstem.model.errors import MainstemError
from mainstem.wire.kafka.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)


async def handle(
    context: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    changes: dict[str, list[CredentialChange]] = {name: [] for name in _users_of(request)}
    answers: dict[str, MainstemError | None] = dict.fromkeys(changes)
    for deletion in request.deletions:
        try:
            mechanism = mechanism_of_type(deletion.mechanism)
            changes[deletion.name].append(CredentialChange(mechanism.name, None))
        except MainstemError as error:
            answers[deletion.name] = error
    for upsertion in request.upsertions:
        try:
            check_user_name(upsertion.name)
            mechanism = mechanism_of_type(upsertion.mechanism)
            credential = credential_from_salted(
                mechanism, upsertion.salted_password, upsertion.salt, upsertion.iterations
            )
            changes[upsertion.name].append(CredentialChange(mechanism.name, credential))
        except MainstemError as error:
            answers[upsertion.name] = error
    good = {name: changes[name] for name, error in answers.items() if error is None}
    answers.update(await context.broker.admin.alter_users(good))
    return AlterUserScramCredentialsResponse(results=[_result(*each) for each in answers.items()])


def _users_of(request: AlterUserScramCredentialsRequest) -> dict[str, None]:
    names = [each.name for each in request.deletions] + [each.name for each in request.upsertions]
    return dict.fromkeys(names)


def _result(name: str, error: MainstemError | None) -> AlterUserScramCredentialsResult:
    if error is None:
        return AlterUserScramCredentialsResult(user=name, error_message=None)
    return AlterUserScramCredentialsResult(
        user=name, error_code=error_code(error), error_message=error_message(error)
    )


def refuse(
    request: AlterUserScramCredentialsRequest, code: ErrorCode, message: str
) -> AlterUserScramCredentialsResponse:
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(user=name, error_code=code, error_message=message)
            for name in _users_of(request)
        ]
    )


HANDLER: Final = Handler(key=51, min_version=0, max_version=0, handle=handle, refuse=refuse)
