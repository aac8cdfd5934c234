"""Users and what they log in with. Passwords are salted here: the broker never gets one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from mainstem.client.cluster import ClusterClient
from mainstem.client.errors import Refused, check
from mainstem.core.identity.credentials import (
    DEFAULT_ITERATIONS,
    SALT_BYTES,
    mechanism_named,
    mechanism_of_type,
    salted_password,
)
from mainstem.wire.kafka.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from mainstem.wire.kafka.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)

NOT_FOUND: Final = 91  # RESOURCE_NOT_FOUND


def users_of(cluster: ClusterClient, names: Sequence[str] | None = None) -> dict[str, dict[str, int]]:
    """The mechanisms of users, with their iterations: of all, or of those with these names."""
    asked = None if names is None else [UserName(name=name) for name in names]
    answer = cluster.ask(
        DescribeUserScramCredentialsRequest(users=asked), DescribeUserScramCredentialsResponse
    )
    check(answer.error_code, "users", answer.error_message)
    found: dict[str, dict[str, int]] = {}
    for result in answer.results:
        if result.error_code == NOT_FOUND:
            continue
        check(result.error_code, f"user {result.user}", result.error_message)
        found[result.user] = {
            mechanism_of_type(each.mechanism).name: each.iterations for each in result.credential_infos
        }
    return found


def set_password(
    cluster: ClusterClient,
    user: str,
    password: str,
    mechanisms: Sequence[str],
    iterations: int = DEFAULT_ITERATIONS,
) -> None:
    upsertions = []
    for name in mechanisms:
        mechanism, salt = mechanism_named(name), os.urandom(SALT_BYTES)
        upsertions.append(
            ScramCredentialUpsertion(
                name=user,
                mechanism=mechanism.wire_type,
                iterations=iterations,
                salt=salt,
                salted_password=salted_password(mechanism, password, salt, iterations),
            )
        )
    _alter(cluster, AlterUserScramCredentialsRequest(upsertions=upsertions))


def delete_user(cluster: ClusterClient, user: str, credentials: Mapping[str, int]) -> None:
    deletions = [
        ScramCredentialDeletion(name=user, mechanism=mechanism_named(name).wire_type) for name in credentials
    ]
    _alter(cluster, AlterUserScramCredentialsRequest(deletions=deletions))


def _alter(cluster: ClusterClient, request: AlterUserScramCredentialsRequest) -> None:
    answer = cluster.ask_controller(request, AlterUserScramCredentialsResponse)
    for result in answer.results:
        if result.error_code:
            raise Refused(result.error_code, f"user {result.user}", result.error_message)
