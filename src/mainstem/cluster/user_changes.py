"""What a request to change users' credentials leads to: pure decisions over the users of now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mainstem.core.identity.credentials import ScramCredential, UserCredentials, check_user_name
from mainstem.core.identity.errors import DuplicateUser, UnknownUser
from mainstem.core.ports import CredentialChange


def changed_credentials(
    users: Mapping[str, UserCredentials], name: str, changes: Sequence[CredentialChange]
) -> dict[str, ScramCredential]:
    """All credentials of the user after the changes, which are made together or not at all."""
    mechanisms = [change.mechanism for change in changes]
    if len(set(mechanisms)) != len(mechanisms):
        raise DuplicateUser(f"one credential of user {name!r} is changed twice in one request")
    credentials = dict(users.get(name, {}))
    for mechanism, credential in changes:
        if credential is not None:
            check_user_name(name)
            credentials[mechanism] = credential
        elif mechanism in credentials:
            del credentials[mechanism]
        else:
            raise UnknownUser(f"user {name!r} has no credential for {mechanism}")
    return credentials
