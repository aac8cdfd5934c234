"""What is kept of a password: salted keys from which it cannot be read back (RFC 5802).

    salted password = PBKDF2(password, salt, iterations)
    stored key      = H(HMAC(salted password, "Client Key"))   checks a client's proof
    server key      = HMAC(salted password, "Server Key")      proves to a client that we know it

One credential serves SCRAM, where the password never crosses the network, and PLAIN, where it does and is
salted here to be compared. Nothing that is compared with a secret is compared with `==`.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from mainstem.core.identity.errors import UnacceptableCredential, UnknownMechanism

MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16384
DEFAULT_ITERATIONS: Final = 8192
SALT_BYTES: Final = 24
MAX_SALT_BYTES: Final = 1024
MAX_USER_CHARACTERS: Final = 255


class ScramMechanism(NamedTuple):
    name: str
    wire_type: int  # in the APIs of SCRAM credentials
    digest: str
    key_bytes: int


SHA_256: Final = ScramMechanism("SCRAM-SHA-256", 1, "sha256", 32)
SHA_512: Final = ScramMechanism("SCRAM-SHA-512", 2, "sha512", 64)
SCRAM_MECHANISMS: Final[Mapping[str, ScramMechanism]] = MappingProxyType(
    {each.name: each for each in (SHA_256, SHA_512)}
)


class ScramCredential(NamedTuple):
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations})"


UserCredentials = Mapping[str, ScramCredential]  # by mechanism


def mechanism_named(name: str) -> ScramMechanism:
    mechanism = SCRAM_MECHANISMS.get(name)
    if mechanism is None:
        raise UnknownMechanism(f"there is no mechanism {name!r}: {', '.join(SCRAM_MECHANISMS)}")
    return mechanism


def mechanism_of_type(wire_type: int) -> ScramMechanism:
    for mechanism in SCRAM_MECHANISMS.values():
        if mechanism.wire_type == wire_type:
            return mechanism
    raise UnknownMechanism("SCRAM credentials are for SCRAM-SHA-256 or SCRAM-SHA-512")


def salted_password(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """Takes milliseconds: not for the loop."""
    return hashlib.pbkdf2_hmac(mechanism.digest, password.encode(), salt, iterations)


def credential_from_salted(
    mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int
) -> ScramCredential:
    """Raises `UnacceptableCredential` for what nobody should be able to log in with."""
    if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
        raise UnacceptableCredential(
            f"iterations may be {MIN_ITERATIONS} to {MAX_ITERATIONS}, not {iterations}"
        )
    if len(salted) != mechanism.key_bytes:
        raise UnacceptableCredential(
            f"a salted password of {mechanism.name} has {mechanism.key_bytes} bytes, not {len(salted)}"
        )
    if not 1 <= len(salt) <= MAX_SALT_BYTES:
        raise UnacceptableCredential(f"a salt has 1 to {MAX_SALT_BYTES} bytes")
    stored = stored_key_of(mechanism, keyed(mechanism, salted, b"Client Key"))
    return ScramCredential(salt, stored, keyed(mechanism, salted, b"Server Key"), iterations)


def new_credential(
    mechanism: ScramMechanism, password: str, salt: bytes, iterations: int = DEFAULT_ITERATIONS
) -> ScramCredential:
    salted = salted_password(mechanism, password, salt, iterations)
    return credential_from_salted(mechanism, salted, salt, iterations)


def password_matches(mechanism: ScramMechanism, credential: ScramCredential, password: str) -> bool:
    """Takes milliseconds: not for the loop."""
    salted = salted_password(mechanism, password, credential.salt, credential.iterations)
    shown = stored_key_of(mechanism, keyed(mechanism, salted, b"Client Key"))
    return hmac.compare_digest(shown, credential.stored_key)


def stored_key_of(mechanism: ScramMechanism, client_key: bytes) -> bytes:
    return hashlib.new(mechanism.digest, client_key).digest()


def keyed(mechanism: ScramMechanism, key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, mechanism.digest)


def check_user_name(name: str) -> None:
    has_controls = any(ord(each) < 0x20 or each == "\x7f" for each in name)
    if not 1 <= len(name) <= MAX_USER_CHARACTERS or has_controls:
        raise UnacceptableCredential(
            f"a user's name has 1 to {MAX_USER_CHARACTERS} characters and no control characters"
        )
