"""Credentials for users that do not exist, so that nobody learns which users do.

Who asks for the salt of a user gets one, whether there is such a user or not, and a password is salted as
long. That hides nothing where the users that there are have another number of iterations or another length
of salt than the stand-ins. So a stand-in takes these from the users of now: the name decides which one's,
so that the same name gets the same at each try, and of all names as many get each as users have it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from mainstem.core.identity.credentials import (
    DEFAULT_ITERATIONS,
    SALT_BYTES,
    SCRAM_MECHANISMS,
    SHA_512,
    ScramCredential,
    ScramMechanism,
    UserCredentials,
)

_FRACTION_BYTES: Final = 8


class _Shape(NamedTuple):
    """What a credential shows of itself."""

    mechanism: str
    iterations: int = DEFAULT_ITERATIONS
    salt_bytes: int = SALT_BYTES


def strongest(credentials: UserCredentials) -> ScramMechanism | None:
    """What a password that came in the clear is compared with."""
    for name in reversed(list(SCRAM_MECHANISMS)):
        if name in credentials:
            return SCRAM_MECHANISMS[name]
    return None


class StandIns:
    def __init__(self, users: Callable[[], Mapping[str, UserCredentials]], secret: bytes) -> None:
        """`secret`: random, and of this process; `users` gives another mapping when they change."""
        self._users = users
        self._secret = secret
        self._seen: Mapping[str, UserCredentials] | None = None
        self._shapes: dict[str, list[_Shape]] = {}  # sorted, one of each user, by mechanism
        self._plain_shapes: list[_Shape] = []

    def of_mechanism(self, mechanism: ScramMechanism, user: str) -> ScramCredential:
        """The same at each try while the users are the same, and good for no password."""
        self._look()
        return self._made(user, self._shapes.get(mechanism.name) or [_Shape(mechanism.name)])[1]

    def of_any(self, user: str) -> tuple[ScramMechanism, ScramCredential]:
        """For log-ins where the password itself comes."""
        self._look()
        return self._made(user, self._plain_shapes or [_Shape(SHA_512.name)])

    def _made(self, user: str, shapes: list[_Shape]) -> tuple[ScramMechanism, ScramCredential]:
        seed = hmac.digest(self._secret, user.encode(), "sha512")
        fraction = int.from_bytes(seed[:_FRACTION_BYTES], "big")
        shape = shapes[fraction * len(shapes) >> (8 * _FRACTION_BYTES)]
        mechanism = SCRAM_MECHANISMS[shape.mechanism]
        stream = hashlib.shake_256(seed).digest(shape.salt_bytes + 2 * mechanism.key_bytes)
        salt, keys = stream[: shape.salt_bytes], stream[shape.salt_bytes :]
        stored, server = keys[: mechanism.key_bytes], keys[mechanism.key_bytes :]
        return mechanism, ScramCredential(salt, stored, server, shape.iterations)

    def _look(self) -> None:
        users = self._users()
        if users is self._seen:
            return
        shapes: dict[str, list[_Shape]] = {name: [] for name in SCRAM_MECHANISMS}
        plain: list[_Shape] = []
        for credentials in users.values():
            for name, credential in credentials.items():
                shapes[name].append(_shape(name, credential))
            best = strongest(credentials)
            if best is not None:
                plain.append(_shape(best.name, credentials[best.name]))
        for each in shapes.values():
            each.sort()
        self._seen, self._shapes, self._plain_shapes = users, shapes, sorted(plain)


def _shape(mechanism: str, credential: ScramCredential) -> _Shape:
    return _Shape(mechanism, credential.iterations, len(credential.salt))
