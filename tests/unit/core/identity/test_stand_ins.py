"""What a user that does not exist shows is what users that exist show."""

from __future__ import annotations

from collections import Counter

from mainstem.core.identity.credentials import (
    DEFAULT_ITERATIONS,
    SALT_BYTES,
    SHA_256,
    SHA_512,
    ScramMechanism,
    UserCredentials,
    new_credential,
)
from mainstem.core.identity.stand_ins import StandIns

SECRET = b"a secret of this broker"


def user_of(mechanism: ScramMechanism, iterations: int, salt_bytes: int = 16) -> UserCredentials:
    return {mechanism.name: new_credential(mechanism, "secret", b"s" * salt_bytes, iterations)}


def test_without_users_it_is_what_a_new_user_would_be() -> None:
    stand_ins = StandIns(dict, SECRET)
    made = stand_ins.of_mechanism(SHA_256, "ghost")
    assert (made.iterations, len(made.salt)) == (DEFAULT_ITERATIONS, SALT_BYTES)
    assert (len(made.stored_key), len(made.server_key)) == (32, 32)
    mechanism, made = stand_ins.of_any("ghost")
    assert (mechanism, made.iterations, len(made.stored_key)) == (SHA_512, DEFAULT_ITERATIONS, 64)


def test_where_all_users_are_of_one_shape_so_are_all_others() -> None:
    users = {"alice": user_of(SHA_256, 4096, 26), "bob": user_of(SHA_256, 4096, 26)}
    stand_ins = StandIns(lambda: users, SECRET)
    for name in map(str, range(50)):
        made = stand_ins.of_mechanism(SHA_256, name)
        assert (made.iterations, len(made.salt)) == (4096, 26)
        mechanism, made = stand_ins.of_any(name)
        assert (mechanism, made.iterations) == (SHA_256, 4096)


def test_shapes_are_as_frequent_among_those_that_do_not_exist() -> None:
    users = {f"old-{n}": user_of(SHA_256, 4096) for n in range(3)} | {"new": user_of(SHA_512, 16_384)}
    stand_ins = StandIns(lambda: users, SECRET)
    found = Counter(stand_ins.of_any(str(n))[1].iterations for n in range(2000))
    assert set(found) == {4096, 16_384}
    assert 1300 < found[4096] < 1700  # the names are those of every run, and so is the secret


def test_a_name_gets_the_same_each_time_and_another_name_another() -> None:
    stand_ins = StandIns(dict, SECRET)
    first = stand_ins.of_mechanism(SHA_256, "ghost")
    assert stand_ins.of_mechanism(SHA_256, "ghost") == first
    assert stand_ins.of_mechanism(SHA_256, "spirit").salt != first.salt
    assert StandIns(dict, b"another secret").of_mechanism(SHA_256, "ghost").salt != first.salt


def test_it_follows_the_users_that_there_are() -> None:
    users: dict[str, UserCredentials] = {}
    stand_ins = StandIns(lambda: users, SECRET)
    assert stand_ins.of_mechanism(SHA_512, "ghost").iterations == DEFAULT_ITERATIONS
    users = {"alice": user_of(SHA_512, 5000)}
    assert stand_ins.of_mechanism(SHA_512, "ghost").iterations == 5000
